// Where ours and the reference differ for a known reason; everything else must be the same.
//
// 1. Request ids are made up. Ours tells beside an error which provider, class and amount it is about (`refusal`).
// 2. Ours knows the standard traits of a newer os-traits.
// 3. What is not JSON is refused by either in the words of its own parser.
// 4. An inventory that is there already is refused by the reference in the words of its database.
// 5. Where several traits, classes or groups are wrong, the reference names them in the order of a Python set.
// 6. Without a token the reference's stand-in for Keystone answers in no form of the API.
// 7. The reference leaves consumers behind that hold nothing, of refused requests too; what they are compared with
//    later goes wrong. reference/serve.py takes them away after each request.
// 8. A provider that was told what it is already, and a provider without inventories, have no time of change in the
//    reference.
// 9. Where the reference fails with a status of 500, it has no answer to compare with: of candidates of which a sharing
//    provider of another tree is part, and of bodies that its schemas let pass.
// 10. A query for candidates or providers with a name that nobody knows is refused by ours in any case, by the
//    reference only if what it looks at before finds any: see compare.ts.
// 11. Where a shared provider serves the unnamed group alone, the reference loses candidates of the other groups: see
//    compare.ts.
//
// The streams leave out:
//
// 12. A class that two groups of a query ask for without `group_policy=none`: the reference counts it up in place.
// 13. Taking a provider's name away, which the reference lets pass and ours refuses.

import type { Answer, Request } from './exchange.ts';

interface Told {
  request_id?: string;
  refusal?: unknown;
  detail?: string;
}

export function withoutKnown(request: Request, answer: Answer): Answer {
  const { body } = answer;
  if (typeof body === 'string') return { ...answer, body: inPage(body) };
  if (typeof body !== 'object' || body === null) return answer;
  if ('inventories' in body && Object.keys(body.inventories as object).length === 0) {
    const { 'last-modified': _, ...headers } = answer.headers;
    return { ...answer, headers };
  }
  if (request.method === 'PUT' && /^\/resource_providers\/[^/]*$/.test(request.path)) {
    const { 'last-modified': _, ...headers } = answer.headers;
    return 'errors' in body ? { ...answer, headers, body: errorsIn(body) } : { ...answer, headers };
  }
  if ('errors' in body) return { ...answer, body: errorsIn(body) };
  if ('traits' in body && request.path.startsWith('/traits')) {
    return { ...answer, body: { traits: (body.traits as string[]).filter((name) => name.startsWith('CUSTOM_')) } };
  }
  return answer;
}

function errorsIn({ errors }: { errors?: unknown }) {
  return { errors: (errors as Told[]).map(withoutMadeUp) };
}

function withoutMadeUp({ request_id: _, refusal: __, detail = '', ...told }: Told) {
  return { ...told, detail: inOwnWords(detail) };
}

/** An error as a page: what is quoted in it is written as HTML has it. */
function inPage(page: string): string {
  const [head = '', text = ''] = page.split('<br /><br />');
  return head + inOwnWords(text.replaceAll('&#x27;', "'").replace(/\s*<\/body>.*/s, ''));
}

function inOwnWords(detail: string): string {
  return detail
    .replace(/Malformed JSON: .*/s, 'Malformed JSON')
    .replace(/Update conflict: .*/s, 'Update conflict')
    .replace(/\[('[^\]]*')\]/g, (_match, names: string) => `[${inOrder(names)}]`)
    .replace(/(No such trait(?:\(s\):)? )(.*)/s, (_match, begin: string, names: string) => begin + inOrder(names))
    .replace(/(Inventory for ')(.*?)(' on resource provider ')(.*?)(')/s, (_match, begin, names, on, ids, end) => {
      return begin + inOrder(names) + on + inOrder(ids) + end;
    });
}

function inOrder(names: string): string {
  return names
    .split(/[\s,.]+/)
    .sort()
    .join(' ')
    .trim();
}
