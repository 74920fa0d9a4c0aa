// Who listens on which subject: exact subjects, `*` and `>` patterns, and queue groups, as a NATS server routes.
// A trie of tokens answers what is asked first; of a subject on which somebody listens, a map does from then on. It
// delivers nothing.

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
interface QueueTurn {
  next: number;
  listeners: number;
}

/** Who gets a message on one subject. Never changed once made, but for the turns of its groups, which outlive it. */
interface Route<L> {
  plain: L[];
  groups: QueueGroup<L>[];
  /** Who gets every message, where there is nobody else: most subjects are an actor's own. */
  only: L | undefined;
}

export interface Interest<L extends Listener> {
  add(listener: L): void;
  remove(listener: L): void;
  /** Undefined when nobody listens. */
  route(subject: string): Route<L> | undefined;
}

/** A subject on which somebody listens, and its route as of some change of interest. */
interface Exact<L> {
  listeners: number;
  route: Route<L> | undefined;
  asOf: number;
}

/** How subjects begin and end that a pattern may match. */
interface Ends {
  readonly first: string;
  readonly last: string;
  patterns: number;
}

/** How many kinds of patterns are gone through: with more of them the trie is as fast. */
const MAX_KINDS = 32;

interface Node<L> {
  /** By token; null: there are none. Most nodes are the last of a subject. */
  children: Map<string, Node<L>> | null;
  /** Under `*`. */
  any: Node<L> | undefined;
  /** Under `>`. */
  rest: Node<L> | undefined;
  listeners: L[];
}

function emptyNode<L>(): Node<L> {
  return { children: null, any: undefined, rest: undefined, listeners: [] };
}

function childOf<L>(node: Node<L>, token: string): Node<L> | undefined {
  return token === '*' ? node.any : token === '>' ? node.rest : node.children?.get(token);
}

function setChild<L>(node: Node<L>, token: string, child: Node<L> | undefined): void {
  if (token === '*') node.any = child;
  else if (token === '>') node.rest = child;
  else if (child !== undefined) {
    node.children ??= new Map();
    node.children.set(token, child);
  } else {
    node.children?.delete(token);
    if (node.children?.size === 0) node.children = null;
  }
}

function isEmpty<L>({ children, any, rest, listeners }: Node<L>): boolean {
  return children === null && any === undefined && rest === undefined && listeners.length === 0;
}

export function interest<L extends Listener>(): Interest<L> {
  const root = emptyNode<L>();
  /** By subjects that have no wildcard. */
  const exact = new Map<string, Exact<L>>();
  /** Of all patterns, by how subjects begin and end that they match. */
  const ends = new Map<string, Ends>();
  let kinds: readonly Ends[] = [];
  const turns = new Map<string, QueueTurn>();
  let changes = 0;

  function count(subject: string, change: 1 | -1): void {
    changes += 1;
    if (isPattern(subject)) return countEnds(subject, change);
    const known = exact.get(subject) ?? { listeners: 0, route: undefined, asOf: 0 };
    known.listeners += change;
    if (known.listeners === 0) exact.delete(subject);
    else exact.set(subject, known);
  }

  function countEnds(pattern: string, change: 1 | -1): void {
    const first = pattern.slice(0, pattern.search(/[*>]/));
    const last = pattern.slice(Math.max(pattern.lastIndexOf('*'), pattern.lastIndexOf('>')) + 1);
    const key = `${first} ${last}`;
    const known = ends.get(key) ?? { first, last, patterns: 0 };
    known.patterns += change;
    if (known.patterns === 0) ends.delete(key);
    else ends.set(key, known);
    kinds = [...ends.values()];
  }

  /** Whether a pattern could match, by the ends of the subject alone: nobody listens to most events of single builds. */
  function mayMatch(subject: string): boolean {
    if (kinds.length > MAX_KINDS) return true;
    return kinds.some(({ first, last }) => subject.startsWith(first) && subject.endsWith(last));
  }

  function routeBy(subject: string): Route<L> | undefined {
    const found: L[] = [];
    collect(root, subject, 0, found);
    if (found.length === 0) return undefined;
    found.sort((one, other) => one.order - other.order);
    return routeTo(found, turns);
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
      // A list that is made of one takes no more room than that.
      if (node.listeners.length === 0) node.listeners = [listener];
      else node.listeners.push(listener);
      count(listener.subject, 1);
      countInQueue(listener, 1);
    },
    remove(listener) {
      if (!prune(root, listener, listener.subject.split('.'), 0)) return;
      count(listener.subject, -1);
      countInQueue(listener, -1);
    },
    route(subject) {
      const known = exact.get(subject);
      if (known === undefined) return mayMatch(subject) ? routeBy(subject) : undefined;
      if (known.asOf !== changes) {
        known.route = routeBy(subject);
        known.asOf = changes;
      }
      return known.route;
    },
  };
}

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
  if (any === undefined && children === null) return;
  const end = subject.indexOf('.', from);
  const to = end === -1 ? subject.length : end;
  if (any !== undefined) collect(any, subject, to + 1, found);
  const exact = children?.get(subject.slice(from, to));
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
  return { plain, groups: [...groups.values()], only: listeners.length === 1 ? listeners[0] : undefined };
}
