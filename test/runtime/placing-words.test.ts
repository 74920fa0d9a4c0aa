// Area: placing words. What a request says of zones becomes conditions on aggregates, which let in exactly the hosts that
// it means: those of the default zone are in no aggregate of any zone.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { aggregatesOf } from '../../runtime/aggregates.ts';
import { MalformedError } from '../../runtime/errors.ts';
import { type PlacementRequest, placingOf } from '../../runtime/gateway/placing.ts';

const test = suite('placing words');

const ZONES = ['east', 'west', 'north'];
const AGGREGATES = {
  e1: { zone: 'east' },
  e2: { zone: 'east' },
  w1: { zone: 'west' },
  n1: { zone: 'north' },
  fast: {},
};
/** Hosts by their aggregates, each with its zone. */
const HOSTS: readonly (readonly [readonly string[], string])[] = [
  [['e1'], 'east'],
  [['e1', 'e2', 'fast'], 'east'],
  [['w1'], 'west'],
  [['n1', 'fast'], 'north'],
  [['fast'], 'nova'],
  [[], 'nova'],
];

function letsIn(placement: PlacementRequest, has: readonly string[]): boolean {
  const { memberOf = [], notMemberOf = [] } =
    placingOf(placement, undefined, aggregatesOf(AGGREGATES, 'nova')).tree ?? {};
  return memberOf.every((list) => list.some((id) => has.includes(id))) && !notMemberOf.some((id) => has.includes(id));
}

test('placing words - zones to use and to avoid, the default one among them, let in the hosts of these zones', () => {
  fc.assert(
    fc.property(fc.subarray([...ZONES, 'nova']), fc.subarray([...ZONES, 'nova']), (zones, others) => {
      const avoidZones = others.filter((one) => !zones.includes(one));
      const placement = {
        ...(zones.length === 0 ? {} : { zones }),
        ...(avoidZones.length === 0 ? {} : { avoidZones }),
      };
      for (const [has, zone] of HOSTS) {
        const isMeant = (zones.length === 0 || zones.includes(zone)) && !avoidZones.includes(zone);
        assert.is(letsIn(placement, has), isMeant, `${JSON.stringify(placement)} ${has.join()}`);
      }
    }),
    { numRuns: 300 },
  );
});

test('placing words - the default zone is told of among others, and cannot be avoided when there is no other', () => {
  const refused = (placement: PlacementRequest, ...told: Parameters<typeof aggregatesOf>) => {
    try {
      placingOf(placement, undefined, aggregatesOf(...told));
    } catch (error) {
      if (error instanceof MalformedError) return `${error.field}: ${error.message}`;
      throw error;
    }
    return null;
  };
  assert.is(refused({ zones: ['nova'] }, {}, 'nova'), null);
  assert.match(refused({ avoidZones: ['nova'] }, {}, 'nova') ?? '', /^placement.avoidZones.0: .*the only zone/);
  assert.match(refused({ zones: ['nova'] }, AGGREGATES) ?? '', /^placement.zones.0: .*zones are east, north, west$/);
  assert.match(refused({ zones: ['moon'] }, AGGREGATES, 'nova') ?? '', /zones are east, north, nova, west$/);
});

test.run();
