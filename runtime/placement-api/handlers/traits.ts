// /traits and /resource_providers/{uuid}/traits

import type { ProviderView, Traits } from '../../../actors/placement/api/reads.ts';
import {
  asked,
  bodyOf,
  type Call,
  generationChanged,
  type Handler,
  noSuchProvider,
  param,
  providerShown,
  refuseTooMany,
  told,
} from '../call.ts';
import { faultOf } from '../json-schema.ts';
import { badRequest, notFound, Problem } from '../problem.ts';
import { CUSTOM_TRAIT, LIST_TRAITS, PUT_TRAITS } from '../schemas/providers.ts';

const noSuchTrait = (name: string) => notFound(`No such trait(s): ${name}.`);

const traitsOf = (call: Call) => told<Traits>(call, { type: 'traits-list' });

export const listTraits: Handler = async (call) => {
  const { query } = call;
  query.check(LIST_TRAITS);
  const name = query.get('name');
  const matches = name === undefined ? () => true : matcherOf(name);
  const associated = query.get('associated')?.toLowerCase();
  if (associated !== undefined && associated !== 'true' && associated !== 'false') {
    throw badRequest('The query parameter "associated" only accepts "true" or "false"');
  }
  const known = await traitsOf(call);
  const inUse = new Set(known.associated);
  const traits = known.traits.filter(
    (trait) => matches(trait) && (associated === undefined || inUse.has(trait) === (associated === 'true')),
  );
  return { status: 200, body: { traits }, changedAt: 0 };
};

/** What `in:A,B` or `startswith:A` picks; another word before the colon picks all, as in the reference. */
function matcherOf(asked: string): (trait: string) => boolean {
  const colon = asked.indexOf(':');
  if (colon < 0) {
    const form = '?name=[in|startswith]:[name1,name2|prefix]';
    throw badRequest(
      `Badly formatted name parameter. Expected name query string parameter in form: ${form}. Got: "${asked}"`,
    );
  }
  const value = asked.slice(colon + 1);
  const kind = asked.slice(0, colon);
  if (kind === 'in') {
    const names = new Set(value.split(','));
    return (trait) => names.has(trait);
  }
  return kind === 'startswith' ? (trait) => trait.startsWith(value) : () => true;
}

export const showTrait: Handler = async (call) => {
  const name = param(call, 'name');
  const { traits } = await traitsOf(call);
  if (!traits.includes(name)) throw noSuchTrait(name);
  return { status: 204, changedAt: 0 };
};

export const putTrait: Handler = async (call) => {
  const name = param(call, 'name');
  if (faultOf(name, CUSTOM_TRAIT) !== null) {
    throw badRequest(
      'The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix "CUSTOM_" ' +
        'and use following characters: "A"-"Z", "0"-"9" and "_"',
    );
  }
  const { ok } = await asked<{ made: boolean }>(call, { type: 'trait-put', name });
  return { status: ok?.made === true ? 201 : 204, location: `/traits/${name}`, changedAt: 0 };
};

export const deleteTrait: Handler = async (call) => {
  const name = param(call, 'name');
  const { refused } = await asked(call, { type: 'trait-delete', name });
  if (refused === undefined) return { status: 204 };
  if (refused.code === 'no-trait') throw noSuchTrait(name);
  if (refused.code === 'trait-standard') throw badRequest(`Cannot delete standard trait ${name}.`);
  throw new Problem(409, `The trait ${name} is in use by a resource provider.`);
};

function providerTraits({ traits, generation, changedAt }: ProviderView) {
  return { status: 200 as const, body: { traits, resource_provider_generation: generation }, changedAt };
}

export const listProviderTraits: Handler = async (call) => providerTraits(await providerShown(call));

export const putProviderTraits: Handler = async (call) => {
  const id = param(call, 'uuid');
  const body = bodyOf<{ traits: string[]; resource_provider_generation: number }>(call, PUT_TRAITS);
  const { traits, resource_provider_generation: generation } = body;
  refuseTooMany(traits, 'traits');
  const { ok, refused } = await asked<ProviderView>(call, { type: 'traits-put', id, traits, generation });
  if (refused === undefined) return providerTraits(ok);
  if (refused.code === 'no-provider') throw noSuchProvider(id);
  if (refused.code === 'no-trait') throw badRequest(`No such trait ${refused.subject}`);
  throw generationChanged(refused);
};

export const deleteProviderTraits: Handler = async (call) => {
  const id = param(call, 'uuid');
  const { refused } = await asked(call, { type: 'traits-put', id, traits: [] });
  if (refused !== undefined) throw noSuchProvider(id);
  return { status: 204 };
};
