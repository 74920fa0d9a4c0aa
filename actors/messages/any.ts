// The union of all messages, so that what an actor sends is checked by the compiler against what somebody takes.

import type { CellMessage } from './cell.ts';
import type { ComputeMessage, DriverMessage } from './compute.ts';
import type { ConductorMessage } from './conductor.ts';
import type { GatewayMessage } from './gateway.ts';
import type { GroupHomeMessage } from './group-homes.ts';
import type { PlacementMessage } from './placement.ts';
import type { PlacementApiAnswer, PlacementApiMessage } from './placement-api.ts';
import type { SchedulerMessage } from './scheduler.ts';
import type { TransactionMessage } from './transactions.ts';

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** Any message that an actor may send. */
export type AnyMessage = DeepReadonly<
  | CellMessage
  | ComputeMessage
  | DriverMessage
  | ConductorMessage
  | GatewayMessage
  | PlacementMessage
  | PlacementApiMessage
  | PlacementApiAnswer
  | SchedulerMessage
  | TransactionMessage
  | GroupHomeMessage
>;
