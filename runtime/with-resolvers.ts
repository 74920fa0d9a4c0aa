// A promise and what settles it: `Promise.withResolvers`, which Node 20 lacks.

export interface Resolvers<Value> {
  readonly promise: Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

export function withResolvers<Value = void>(): Resolvers<Value> {
  let resolve!: Resolvers<Value>['resolve'];
  let reject!: Resolvers<Value>['reject'];
  const promise = new Promise<Value>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}
