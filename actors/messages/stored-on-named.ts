// What stood in the way on a host that a request names, as the record of a decision keeps it.

import Type, { type Static } from 'typebox';
import { clipped } from './common.ts';
import type { OnNamedHosts } from './in-the-way.ts';

/** A record has room for some hundred characters of each thing, of which there may be several on several hosts. */
const MAX_CODE_LENGTH = 64;
const MAX_ABOUT_LENGTH = 64;
const MAX_WORDS_LENGTH = 160;

/** The code, what it is about ('' if nothing), how much it is short, and the words. */
const Thing = Type.Tuple([Type.String(), Type.String(), Type.Union([Type.Number(), Type.Null()]), Type.String()]);
type Thing = Static<typeof Thing>;

/** The place, what stood in the way there, and whether more did than is told. */
export const StoredOnNamed = Type.Tuple([Type.String(), Type.Array(Thing, { minItems: 1 }), Type.Boolean()]);
export type StoredOnNamed = Static<typeof StoredOnNamed>;

type Told = OnNamedHosts['told'][number];

export function storedOnNamed({ cell, host, refusal, also = [], partly }: Told): StoredOnNamed {
  const things = [refusal, ...also].map(({ code, about = '', short = null, message }): Thing => {
    return [
      clipped(code, MAX_CODE_LENGTH),
      clipped(about, MAX_ABOUT_LENGTH),
      short,
      clipped(message, MAX_WORDS_LENGTH),
    ];
  });
  return [`${cell}/${host}`, things, partly === true];
}

export function onNamedOf([, [first, ...others], isMore]: StoredOnNamed): Omit<Told, 'cell' | 'host'> {
  const told = ([code, about, short, message]: Thing) => ({
    code,
    message,
    ...(about === '' ? {} : { about }),
    ...(short === null ? {} : { short }),
  });
  const also = others.map(told);
  return {
    refusal: { ...told(first as Thing), ...(also.length > 0 || isMore ? { lacksMore: true as const } : {}) },
    ...(also.length === 0 ? {} : { also }),
    ...(isMore ? { partly: true as const } : {}),
  };
}
