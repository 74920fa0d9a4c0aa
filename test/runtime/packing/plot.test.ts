// Area: the plot of a packing experiment. Its axes can be read, however little or much is asked for.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { plotOf } from '../../../runtime/packing/plot.ts';
import type { PackingReport } from '../../../runtime/packing/report.ts';

const test = suite('packing plot');

function reportOf(tune: number): PackingReport {
  const curve = Array.from({ length: Math.round(100 * tune) + 1 }, (_, arrived) => {
    const mean = Math.min(arrived, 90);
    return { arrived, mean, least: mean, most: mean, ofSeeds: 1 };
  });
  const policies = { fgd: { curve } } as unknown as PackingReport['policies'];
  return {
    nodes: 'nodes.csv',
    pods: 'pods.csv',
    gpus: 100,
    seeds: [1],
    tune,
    asked: tune,
    askedOfSeeds: [tune],
    policies,
  } as unknown as PackingReport;
}

/** The labels below the plot, and where they stand. */
function labelsOf(svg: string): { readonly percent: number; readonly x: number }[] {
  return [...svg.matchAll(/<text x="([\d.]+)" y="558"[^>]*>(\d+) %</g)].map(([, x, percent]) => {
    return { x: Number(x), percent: Number(percent) };
  });
}

test('packing plot - what is asked for stands below in round numbers, and none covers the next', () => {
  for (const tune of [0.1, 0.51, 0.8, 1, 1.3, 2, 3, 4.5, 10, 100]) {
    const labels = labelsOf(plotOf(reportOf(tune)));
    assert.ok(labels.length >= 2 && labels.length <= 14, `${tune}: ${labels.length} labels`);
    for (const [at, { x, percent }] of labels.entries()) {
      assert.is(percent % 10, 0);
      const before = labels[at - 1];
      if (before !== undefined) assert.ok(x - before.x >= 45, `${tune}: ${before.percent} and ${percent} %`);
    }
    if (tune >= 1 && tune <= 10)
      assert.ok(
        labels.some(({ percent }) => percent === 100),
        `${tune}`,
      );
  }
});

test('packing plot - with little asked for, the curve begins with nothing', () => {
  for (const [tune, from] of [
    [0.51, 0],
    [0.8, 50],
    [1.3, 50],
  ] as const) {
    assert.is(labelsOf(plotOf(reportOf(tune)))[0]?.percent, from, `${tune}`);
  }
});

test('packing plot - curves are drawn as far as all seeds have come', () => {
  const { policies, ...report } = reportOf(1.3);
  const curve = (policies.fgd?.curve ?? []).map((point) => ({ ...point, ofSeeds: point.arrived > 110 ? 1 : 2 }));
  const told = { ...report, policies: { fgd: { ...policies.fgd, curve } } as PackingReport['policies'] };
  const drawn = plotOf({ ...told, seeds: [1, 2], asked: 1.2, askedOfSeeds: [1.1, 1.3] });
  assert.is(labelsOf(drawn).at(-1)?.percent, 110);
  assert.match(drawn, /2 seeds, requests for 1\.1 to 1\.3 times all GPUs/);
  assert.not.match(drawn, /NaN|undefined/);
  assert.match(drawn, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="960" height="600" viewBox="0 0 960 600"/);
});

test('packing plot - curves of very many points are drawn', () => {
  const { policies, ...report } = reportOf(1_000);
  const several = { fgd: policies.fgd, 'best-fit': policies.fgd, random: policies.fgd } as PackingReport['policies'];
  assert.is(labelsOf(plotOf({ ...report, policies: several })).at(-1)?.percent, 100_000);
});

test.run();
