// Area: Placement API, several shards. Once more, on a placement of four shards: what all requests go through.

process.env.CELLWRIGHT_TEST_PLACEMENT_SHARDS = '4';

await import('../http.test.ts');
