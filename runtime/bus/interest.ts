// Who listens on which subject: exact subjects, `*` and `>` patterns, and queue groups, as a NATS server routes.
// A trie of tokens answers what is asked first; a map answers it from then on. It delivers nothing.

/** One subscription, as far as routing goes. */
export interface Listener {
  readonly subject: string;
  readonly queue: string | undefined;
  /** Order of subscribing: plain listeners are served in it, and queue members take turns in it. */
  readonly order: number;
}

/** The members of one queue group that listen on a subject: one of them gets each message. */
export interface QueueGroup<L> {
  members: L[];
  readonly turn: QueueTurn;
}

/** Who is next when members take turns. Of one name and subject or pattern, and kept while somebody listens so. */
export interface QueueTurn {
  next: number;
  listeners: number;
}

/** Who gets a message on one subject. Never changed once made, but for the turns of its groups, which outlive it. */
export interface Route<L> {
  plain: L[];
  groups: QueueGroup<L>[];
}

export interface Interest<L extends Listener> {
  add(listener: L): void;
  remove(listener: L): void;
  /** Undefined when nobody listens. */
  route(subject: string): Route<L> | undefined;
}

/** Routes kept ready. */
const MAX_ROUTES = 16_384;

interface Node<L> {
  /** By token. */
  readonly children: Map<string, Node<L>>;
  /** Under `*`. */
  any: Node<L> | undefined;
  /** Under `>`. */
  rest: Node<L> | undefined;
  readonly listeners: L[];
}

function emptyNode<L>(): Node<L> {
  return { children: new Map(), any: undefined, rest: undefined, listeners: [] };
}

function childOf<L>(node: Node<L>, token: string): Node<L> | undefined {
  return token === '*' ? node.any : token === '>' ? node.rest : node.children.get(token);
}

function setChild<L>(node: Node<L>, token: string, child: Node<L> | undefined): void {
  if (token === '*') node.any = child;
  else if (token === '>') node.rest = child;
  else if (child === undefined) node.children.delete(token);
  else node.children.set(token, child);
}

function isEmpty<L>({ children, any, rest, listeners }: Node<L>): boolean {
  return children.size === 0 && any === undefined && rest === undefined && listeners.length === 0;
}

export function interest<L extends Listener>(): Interest<L> {
  const root = emptyNode<L>();
  const routes = new Map<string, Route<L>>();
  /** By subjects that have no wildcard. */
  const exact = new Map<string, number>();
  /** By the number of their tokens and the last of them: patterns that match subjects of as many. */
  const closed = new Map<number, Map<string, number>>();
  /** By the number of their tokens: those that match longer subjects too. */
  const open = new Map<number, number>();
  const turns = new Map<string, QueueTurn>();

  function count(subject: string, change: 1 | -1): void {
    if (!isPattern(subject)) return add(exact, subject, change);
    const tokens = tokensIn(subject);
    if (subject.endsWith('>')) return add(open, tokens, change);
    const last = lastTokenOf(subject);
    const lasts = closed.get(tokens) ?? new Map<string, number>();
    add(lasts, last, change);
    if (lasts.size === 0) closed.delete(tokens);
    else closed.set(tokens, lasts);
  }

  /** Whether a pattern could match, by the number of tokens and the last alone: nobody listens to most events of single builds. */
  function mayMatch(subject: string): boolean {
    const tokens = tokensIn(subject);
    const lasts = closed.get(tokens);
    if (lasts !== undefined && (lasts.has('*') || lasts.has(lastTokenOf(subject)))) return true;
    for (const least of open.keys()) if (least <= tokens) return true;
    return false;
  }

  function countInQueue(listener: L, change: 1 | -1): void {
    if (listener.queue === undefined) return;
    const key = turnKey(listener);
    const turn = turns.get(key) ?? { next: 0, listeners: 0 };
    turn.listeners += change;
    if (turn.listeners === 0) turns.delete(key);
    else turns.set(key, turn);
  }

  return {
    add(listener) {
      let node = root;
      for (const token of listener.subject.split('.')) {
        let child = childOf(node, token);
        if (child === undefined) {
          child = emptyNode();
          setChild(node, token, child);
        }
        node = child;
      }
      node.listeners.push(listener);
      count(listener.subject, 1);
      countInQueue(listener, 1);
      routes.clear();
    },
    remove(listener) {
      if (!prune(root, listener, listener.subject.split('.'), 0)) return;
      count(listener.subject, -1);
      countInQueue(listener, -1);
      routes.clear();
    },
    route(subject) {
      const known = routes.get(subject);
      if (known !== undefined) return known;
      if (!exact.has(subject) && !mayMatch(subject)) return undefined;
      const found: L[] = [];
      collect(root, subject, 0, found);
      if (found.length === 0) return undefined;
      const route = routeTo(
        found.sort((one, other) => one.order - other.order),
        turns,
      );
      // What only patterns match may occur once, as the events of single builds do.
      if (!found.some((listener) => listener.subject === subject)) return route;
      if (routes.size >= MAX_ROUTES) routes.clear();
      routes.set(subject, route);
      return route;
    },
  };
}

function add<Key>(counts: Map<Key, number>, key: Key, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

function tokensIn(subject: string): number {
  let tokens = 1;
  for (let dot = subject.indexOf('.'); dot !== -1; dot = subject.indexOf('.', dot + 1)) tokens += 1;
  return tokens;
}

const lastTokenOf = (subject: string) => subject.slice(subject.lastIndexOf('.') + 1);

const turnKey = ({ subject, queue }: Listener) => `${subject} ${queue}`;

const isPattern = (subject: string) => subject.includes('*') || subject.includes('>');

/** Takes the listener out, and the nodes on its way that this leaves empty. */
function prune<L>(node: Node<L>, listener: L, tokens: string[], depth: number): boolean {
  if (depth === tokens.length) {
    const index = node.listeners.indexOf(listener);
    if (index === -1) return false;
    node.listeners.splice(index, 1);
    return true;
  }
  const token = tokens[depth] as string;
  const child = childOf(node, token);
  if (child === undefined || !prune(child, listener, tokens, depth + 1)) return false;
  if (isEmpty(child)) setChild(node, token, undefined);
  return true;
}

/** @param from Where the next token of the subject begins. */
function collect<L>(node: Node<L>, subject: string, from: number, found: L[]): void {
  if (from > subject.length) {
    for (const listener of node.listeners) found.push(listener);
    return;
  }
  const { children, any, rest } = node;
  if (rest !== undefined) for (const listener of rest.listeners) found.push(listener);
  if (any === undefined && children.size === 0) return;
  const end = subject.indexOf('.', from);
  const to = end === -1 ? subject.length : end;
  if (any !== undefined) collect(any, subject, to + 1, found);
  const exact = children.size === 0 ? undefined : children.get(subject.slice(from, to));
  if (exact !== undefined) collect(exact, subject, to + 1, found);
}

/** A queue group is one over all patterns: its name alone decides, as in a NATS server. */
function routeTo<L extends Listener>(listeners: L[], turns: ReadonlyMap<string, QueueTurn>): Route<L> {
  const plain: L[] = [];
  const groups = new Map<string, QueueGroup<L>>();
  for (const listener of listeners) {
    if (listener.queue === undefined) {
      plain.push(listener);
      continue;
    }
    const group = groups.get(listener.queue);
    if (group === undefined) {
      // Of listeners to several patterns the first one's turn counts.
      const turn = turns.get(turnKey(listener)) as QueueTurn;
      groups.set(listener.queue, { members: [listener], turn });
    } else group.members.push(listener);
  }
  return { plain, groups: [...groups.values()] };
}
