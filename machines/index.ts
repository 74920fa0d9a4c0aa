// The machines, for those who generate tests from them or read them.

export * from './compute-service.ts';
export * from './instance-build.ts';
export * from './mermaid.ts';
export * from './ownership.ts';
export * from './removal.ts';
export * from './selection.ts';
export * from './step.ts';
