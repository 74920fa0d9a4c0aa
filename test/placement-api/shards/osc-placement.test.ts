// Area: Placement API, several shards. Once more, on a placement of four shards: the tests of the openstack command.

process.env.CELLWRIGHT_TEST_PLACEMENT_SHARDS = '4';

await import('../osc-placement.test.ts');
