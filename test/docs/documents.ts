// The README and the guides that it leads to, and the links between them as GitHub resolves them.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { ROOT } from '../support/programs.ts';

/** Where the guides are, from the root. */
export const GUIDES = 'runtime/docs';

export interface Document {
  /** From the root, such as `runtime/docs/scheduling.md`. */
  readonly path: string;
  readonly text: string;
}

/** The README, and after it all guides. */
export function documents(): Document[] {
  const guides = readdirSync(`${ROOT}${GUIDES}`).toSorted();
  return ['README.md', ...guides.map((name) => `${GUIDES}/${name}`)].map((path) => ({
    path,
    text: readFileSync(`${ROOT}${path}`, 'utf8'),
  }));
}

const withoutBlocks = (text: string): string => text.replace(/^```.*?^```$/gms, '');

/** What the relative links of a document lead to, as they are written. */
export function linksIn({ text }: Document): string[] {
  const prose = withoutBlocks(text).replace(/`[^`\n]*`/g, '`');
  return [...prose.matchAll(/\]\(([^)\s]*)\)/g)].map(([, to = '']) => to).filter((to) => !/^[a-z]+:/i.test(to));
}

/** The anchors of a document's headings; one that comes again is numbered. */
export function anchorsIn({ text }: Document): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutBlocks(text).matchAll(/^#{1,6} +(.*)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim();
    const anchor = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let name = anchor;
    for (let again = 1; anchors.has(name); again++) name = `${anchor}-${again}`;
    anchors.add(name);
  }
  return anchors;
}

/** The file that a link leads to, from the root, and the anchor there. */
export function targetOf({ path }: Document, link: string): { path: string; anchor?: string } {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : posix.join(posix.dirname(path), file);
  return anchor === undefined ? { path: target } : { path: target, anchor };
}

/** The links of documents that lead nowhere: each as `<document>: <link>`. Of other files, only that they are there. */
export function brokenLinks(all: readonly Document[]): string[] {
  return all.flatMap((document) =>
    linksIn(document)
      .filter((link) => {
        const { path, anchor } = targetOf(document, link);
        const target = all.find((other) => other.path === path);
        if (target === undefined) return anchor !== undefined || !existsSync(`${ROOT}${path}`);
        return anchor !== undefined && !anchorsIn(target).has(anchor);
      })
      .map((link) => `${document.path}: ${link}`),
  );
}
