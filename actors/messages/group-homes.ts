// Which placement shard a group that keeps together is with, where there are several: one shard, by the group's id, keeps
// the list. A shard asks it before it grants the first claim of a group, and the keeper asks the shard that the group was
// with whether it still is, before another may have it.

import Type from 'typebox';
import { Id, InstanceGroup, type MessageOf, message } from './common.ts';

const Group = InstanceGroup.properties.id;
/** Tells one question from all others of the shard that asks it, in whatever life. */
const Ticket = Type.Integer({ minimum: 1 });

export const groupHomeMessages = {
  /** Shard to keeper: may members of the group be with me? */
  'group-ask': message('group-ask', { group: Group, token: Ticket }),
  /** Keeper to shard: the group is yours, until you say that you have left it. */
  'group-yours': message('group-yours', { group: Group, token: Ticket }),
  /** Keeper to shard: members have their home on a provider of another shard. */
  'group-elsewhere': message('group-elsewhere', {
    group: Group,
    token: Ticket,
    root: Id,
    name: Type.String({ maxLength: 200 }),
  }),
  /** Keeper to shard: leave the group, unless members have their home with you. */
  'group-leave': message('group-leave', { group: Group, number: Ticket }),
  /** Shard to keeper: no member has its home here, and none will have before I am told that the group is mine again. */
  'group-left': message('group-left', { group: Group, number: Ticket }),
  /** Shard to keeper: members have their home here. */
  'group-stays': message('group-stays', {
    group: Group,
    number: Ticket,
    root: Id,
    name: Type.String({ maxLength: 200 }),
  }),
};
export type GroupHomeMessage = MessageOf<typeof groupHomeMessages>;
export type GroupHomeMessageOf<Kind extends GroupHomeMessage['type']> = Extract<GroupHomeMessage, { type: Kind }>;
