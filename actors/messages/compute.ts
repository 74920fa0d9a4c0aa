// What a compute takes: its cell's orders, and the words of its driver and of placement.

import Type, { type Static } from 'typebox';
import {
  AllocationSchema,
  Ask,
  Attempt,
  Incarnation,
  MAX_ALLOCATIONS,
  MAX_RUNNING_TOLD,
  type MessageOf,
  Metrics,
  message,
  Payload,
  Reason,
  Token,
} from './common.ts';
import { ProviderSpec, placementAnswers } from './placement.ts';

const ofAttempt = { instance: Token, attempt: Attempt };
const Running = Type.Array(Type.Object(ofAttempt));

export const computeMessages = {
  /** Build an attempt; asked twice, it is built once, and the answer is given again. */
  build: message('build', {
    ...ofAttempt,
    /** Which life of the compute the order is for; another one refuses it. */
    incarnation: Incarnation,
    allocations: Type.Array(AllocationSchema, { maxItems: MAX_ALLOCATIONS }),
    payload: Payload,
  }),
  /** Let nothing of an attempt be left, now or later. */
  destroy: message('destroy', {
    ...ofAttempt,
    /** It was seen on the host after it was said to be over: the driver is to be asked, whatever is remembered. */
    isSeen: Type.Optional(Type.Literal(true)),
  }),
  /** The cell knows this compute. */
  welcome: message('welcome', {
    incarnation: Incarnation,
    /** What is active on the host by what the cell knows, and was not told of: whether it is there is to be found out. */
    expected: Type.Optional(Type.Array(Type.Object(ofAttempt), { maxItems: MAX_RUNNING_TOLD })),
  }),
  /**
   * The cell wants to be told what the compute is. With a number it asks whether that life of it is the one that is
   * alive: what a dead one said may arrive late, but it answers nothing.
   */
  'who-are-you': message('who-are-you', {
    incarnation: Type.Optional(Incarnation),
    challenge: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
  /** Another life of the compute has taken this one's place. */
  retired: message('retired', { incarnation: Incarnation }),
  /** What this compute believes to be on its host. */
  'list-instances': message('list-instances', { ask: Ask }),
  /** What the host's driver says is on it. */
  'list-driven': message('list-driven', { ask: Ask }),
  'tree-put': placementAnswers['tree-put'],
  'tree-refused': placementAnswers['tree-refused'],
  /** From its cell, which removed its host as one that does not come back: placement has its tree no more. */
  'tree-withdrawn': placementAnswers['tree-withdrawn'],
};

/** The words of the driver, which runs beside the compute and is not reached over the wire. */
export const driverAnswers = {
  described: message('described', {
    providers: Type.Array(ProviderSpec, { minItems: 1 }),
    running: Running,
    /** Whether the driver measures anything: then it is asked again and again. */
    measures: Type.Optional(Type.Boolean()),
  }),
  /** What the host has now, though its compute has been up for long. */
  'inventory-read': message('inventory-read', { providers: Type.Array(ProviderSpec, { minItems: 1 }) }),
  'inventory-unread': message('inventory-unread', { reason: Reason }),
  measured: message('measured', { metrics: Metrics }),
  'driver-listed': message('driver-listed', { ask: Ask, to: Type.String(), running: Running }),
  'list-failed': message('list-failed', { ask: Ask, to: Type.String(), reason: Reason }),
  'describe-failed': message('describe-failed', { reason: Reason }),
  'driver-built': message('driver-built', ofAttempt),
  'driver-failed': message('driver-failed', { ...ofAttempt, reason: Reason, aborted: Type.Boolean() }),
  /** The driver cannot say what came of the attempt. */
  'driver-unknown': message('driver-unknown', { ...ofAttempt, reason: Reason }),
  'driver-destroyed': message('driver-destroyed', ofAttempt),
  'destroy-failed': message('destroy-failed', { ...ofAttempt, reason: Reason }),
};

/** What a compute asks of its driver, and tells those who run it. */
const driverMessages = {
  describe: message('describe', {}),
  /** Say what the host has now: something may have been put into it, or have failed. */
  'read-inventory': message('read-inventory', {}),
  /** Say what there is to measure on the host now. */
  measure: message('measure', {}),
  /** Say what is on the host; `to` is whoever asked the compute for it. */
  list: message('list', { ask: Ask, to: Type.String() }),
  build: computeMessages.build,
  destroy: message('destroy', ofAttempt),
  /** Placement does not take what the driver said of its host. */
  refused: message('refused', { reason: Reason }),
};

export type ComputeMessage = MessageOf<typeof computeMessages> | MessageOf<typeof driverAnswers>;
export type DriverMessage = MessageOf<typeof driverMessages>;
export type DriverAnswer = MessageOf<typeof driverAnswers>;
export type ComputeBuild = Static<typeof computeMessages.build>;
export type ComputeDestroy = Static<typeof computeMessages.destroy>;
