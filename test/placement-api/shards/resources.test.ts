// Area: Placement API, several shards. Once more, on a placement of four shards: what each path does.

process.env.CELLWRIGHT_TEST_PLACEMENT_SHARDS = '4';

await import('../resources.test.ts');
