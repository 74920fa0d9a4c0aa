// Area: Placement API, several shards. Once more, on a placement of four shards: what is better than in the original.

process.env.CELLWRIGHT_TEST_PLACEMENT_SHARDS = '4';

await import('../rules.test.ts');
