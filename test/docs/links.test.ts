// Area: links. That whoever follows the README and the guides arrives: every relative link leads to a file and every
// anchor to a heading, and the README leads to every guide; and that the check finds what does not.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anchorsIn, brokenLinks, type Document, documents, GUIDES, linksIn } from './documents.ts';

const test = suite('links');

const readme = (text: string): Document => ({ path: 'README.md', text });

test('links - every relative link and every anchor of the README and the guides leads somewhere', () => {
  assert.equal(brokenLinks(documents()), []);
});

test('links - the README leads to every guide', () => {
  const [first, ...guides] = documents();
  const linked = new Set(linksIn(first as Document).map((link) => link.split('#')[0]));
  assert.ok(guides.length > 0);
  assert.equal(
    guides.map(({ path }) => path).filter((path) => !linked.has(path)),
    [],
  );
});

test('links - every guide is a document, and its code blocks end', () => {
  for (const { path, text } of documents()) {
    assert.match(path, /\.md$/);
    assert.match(text, /^# [^\n]+\n\n/, path);
    assert.is((text.match(/^```/gm) ?? []).length % 2, 0, path);
  }
});

test('links - those that lead to no file or to no heading are found, wherever they stand', () => {
  const guide = {
    path: `${GUIDES}/toy.md`,
    text: '# Toy\n\n[up](../../README.md#one) [wrong](README.md) [no](#none)\n',
  };
  const text = `# One\n\n[a](#one) [b](#two) [c](absent.md) [d](${GUIDES}/toy.md#toy) [e](${GUIDES}/toy.md#none) [f](LICENSE)\n`;
  assert.equal(brokenLinks([readme(text), guide]), [
    'README.md: #two',
    'README.md: absent.md',
    `README.md: ${GUIDES}/toy.md#none`,
    `${guide.path}: README.md`,
    `${guide.path}: #none`,
  ]);
});

test('links - those to other sites, and what looks like one in code, are none', () => {
  const text = '[a](https://example.org/b#c) `[d](e)`\n\n```sh\n[f](g)\n# h\n```\n';
  assert.equal(linksIn(readme(text)), []);
  assert.equal([...anchorsIn(readme(text))], []);
});

test('links - anchors of headings are those of GitHub', () => {
  const text = "# Why?\n## Hosts, and when one dies\n### `fit`'s\n## A [link](#why)\n## Why?\n";
  assert.equal([...anchorsIn(readme(text))], ['why', 'hosts-and-when-one-dies', 'fits', 'a-link', 'why-1']);
});

test.run();
