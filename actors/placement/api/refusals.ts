// The refusals that callers of the Placement API get: their codes are stable, their words are for people.

import type { ApiRefusal, ApiRefusalCode } from '../../messages/placement-api.ts';

export type Refused = { readonly refused: ApiRefusal };

export function refused(
  code: ApiRefusalCode,
  message: string,
  more: Omit<ApiRefusal, 'code' | 'message'> = {},
): Refused {
  return { refused: { code, message, ...more } };
}

export function noProvider(id: string): Refused {
  return refused('no-provider', `there is no provider '${id}'`, { provider: id });
}

export function noParent(parent: string): Refused {
  return refused('no-parent', `there is no provider '${parent}' to be the parent`, { provider: parent });
}

export function duplicateId(id: string): Refused {
  return refused('duplicate-id', `there is a provider '${id}'`, { subject: id });
}

export function duplicateName(name: string): Refused {
  return refused('duplicate-name', `there is a provider named '${name}'`, { subject: name });
}

export function noClass(name: string): Refused {
  return refused('no-class', `there is no resource class '${name}'`, { subject: name });
}

export function noTrait(name: string): Refused {
  return refused('no-trait', `there is no trait '${name}'`, { subject: name });
}
