// /resource_providers

import { randomUUID } from 'node:crypto';
import type { ApiRefusal } from '../../../actors/messages/placement-api.ts';
import type { ProviderSummary } from '../../../actors/placement/api/reads.ts';
import { present } from '../../../actors/present.ts';
import { asked, bodyForProvider, bodyOf, type Call, type Handler, latestOf, noSuchProvider, param } from '../call.ts';
import { badRequest, CODES, notFound, Problem } from '../problem.ts';
import { aggregatesAsked, resourcesIn, traitsAsked } from '../query-values.ts';
import { listProviders, postProvider, putProvider } from '../schemas/providers.ts';
import { normalUuid } from '../uuid.ts';

interface ProviderBody {
  name: string;
  uuid?: string;
  parent_provider_uuid?: string | null;
}

export const urlOf = (id: string): string => `/resource_providers/${id}`;

function providerBody({ id, name, parent, root, generation }: ProviderSummary, minor: number) {
  const url = urlOf(id);
  const relations = ['inventories', 'usages'];
  if (minor >= 1) relations.push('aggregates');
  if (minor >= 6) relations.push('traits');
  if (minor >= 11) relations.push('allocations');
  const links = [{ rel: 'self', href: url }, ...relations.map((rel) => ({ rel, href: `${url}/${rel}` }))];
  const body = { uuid: id, name, generation, links };
  return minor >= 14 ? { ...body, parent_provider_uuid: parent, root_provider_uuid: root } : body;
}

export const createProvider: Handler = async (call) => {
  const { minor } = call;
  const body = bodyOf<ProviderBody>(call, postProvider(minor));
  const id = body.uuid === undefined || body.uuid === '' ? randomUUID() : normalUuid(body.uuid);
  const { name, parent_provider_uuid: parent = null } = body;
  const { ok, refused } = await asked<ProviderSummary>(call, { type: 'provider-create', id, name, parent });
  if (refused !== undefined) throw notCreated(refused, name, id);
  const location = urlOf(id);
  if (minor < 20) return { status: 201, location };
  return { status: 200, location, body: providerBody(ok, minor), changedAt: ok.changedAt };
};

function notCreated(refusal: ApiRefusal, name: string, id: string): Problem {
  const duplicates = { 'duplicate-id': `uuid: ${id}`, 'duplicate-name': `name: ${name}` };
  if (refusal.code === 'duplicate-id' || refusal.code === 'duplicate-name') {
    const message = `Conflicting resource provider ${duplicates[refusal.code]} already exists.`;
    return new Problem(409, message, { code: CODES.duplicateName });
  }
  return badRequest(`Unable to create resource provider "${name}", ${id}: ${actionFailed('create', refusal)}`);
}

function actionFailed(action: string, { code, message }: ApiRefusal): string {
  const reasons: Partial<Record<ApiRefusal['code'], string>> = {
    'no-name': 'name is required',
    'no-parent': 'parent provider UUID does not exist.',
    'own-parent':
      'parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is no parent.',
    'no-reparenting': 're-parenting a provider is not currently allowed.',
    'no-unparenting': 'un-parenting a provider is not currently allowed.',
    loop: 'creating loop in the provider tree is not allowed.',
  };
  // The reference says `create` of a parent that is not there, whatever was asked.
  const said = code === 'no-parent' ? 'create' : action;
  return `Object action ${said} failed because: ${reasons[code] ?? message}`;
}

export const showProvider: Handler = async (call) => {
  const id = param(call, 'uuid');
  const { ok, refused } = await asked<ProviderSummary>(call, { type: 'provider-show', id });
  if (refused !== undefined) throw noSuchProvider(id);
  return { status: 200, body: providerBody(ok, call.minor), changedAt: ok.changedAt };
};

export const updateProvider: Handler = async (call) => {
  const { minor } = call;
  const id = param(call, 'uuid');
  const { name, parent_provider_uuid: parent } = await bodyForProvider<ProviderBody>(call, id, putProvider(minor));
  const { ok, refused } = await asked<ProviderSummary>(call, {
    type: 'provider-update',
    id,
    name,
    ...(parent === undefined ? {} : { parent }),
    reparent: minor >= 37,
  });
  if (refused === undefined) return { status: 200, body: providerBody(ok, minor), changedAt: ok.changedAt };
  if (refused.code === 'no-provider') throw noSuchProvider(id);
  if (refused.code === 'duplicate-name') {
    throw new Problem(409, `Conflicting resource provider ${name} already exists.`, { code: CODES.duplicateName });
  }
  const message = `Unable to save resource provider ${id}: ${actionFailed('update', refused)}`;
  throw new Problem(400, message, refused.code === 'other-shard' ? { refusal: refused } : {});
};

export const deleteProvider: Handler = async (call) => {
  const id = param(call, 'uuid');
  const { refused } = await asked(call, { type: 'provider-delete', id });
  if (refused === undefined) return { status: 204 };
  if (refused.code === 'no-provider') throw notFound(`No resource provider with uuid ${id} found for delete`);
  if (refused.code === 'has-children') {
    const message = `Unable to delete parent resource provider ${id}: It has child resource providers.`;
    throw new Problem(409, message, { code: CODES.cannotDeleteParent });
  }
  const message = `Unable to delete resource provider ${id}: Resource provider has allocations.`;
  throw new Problem(409, message, { code: CODES.providerInUse });
};

export const findProviders: Handler = async (call) => {
  const { query, minor } = call;
  query.check(listProviders(minor));
  const name = query.get('name');
  const id = query.get('uuid');
  const inTree = query.get('in_tree');
  const aggregates = aggregatesAsked(query, minor);
  const traits = traitsAsked(query, minor);
  const resources = resourcesAsked(call);
  const { ok, refused } = await asked<ProviderSummary[]>(call, {
    type: 'providers-find',
    ...present({ name, id, inTree }),
    ...aggregates,
    ...traits,
    resources,
  });
  if (refused?.code === 'no-trait') {
    throw badRequest(`Invalid trait(s) in "required" parameter: No such trait(s): ${refused.subject}.`);
  }
  if (refused !== undefined) {
    throw badRequest(`Invalid resource class in resources parameter: No such resource class ${refused.subject}.`);
  }
  const body = { resource_providers: ok.map((provider) => providerBody(provider, minor)) };
  return { status: 200, body, changedAt: latestOf(ok) };
};

function resourcesAsked({ query }: Call): Record<string, number> {
  const resources = query.get('resources');
  return resources === undefined ? {} : resourcesIn(resources);
}
