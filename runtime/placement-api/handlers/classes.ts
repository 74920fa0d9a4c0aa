// /resource_classes

import { asked, bodyOf, type Call, type Handler, param, told } from '../call.ts';
import { faultOf } from '../json-schema.ts';
import { badRequest, notFound, Problem } from '../problem.ts';
import { RESOURCE_CLASS } from '../schemas/providers.ts';

const urlOf = (name: string) => `/resource_classes/${name}`;
const classBody = (name: string) => ({ name, links: [{ rel: 'self', href: urlOf(name) }] });
const noSuchClass = (name: string) => notFound(`No such resource class ${name}.`);

const classesOf = (call: Call) => told<readonly string[]>(call, { type: 'classes-list' });

export const listClasses: Handler = async (call) => {
  const classes = await classesOf(call);
  return { status: 200, body: { resource_classes: classes.map(classBody) }, changedAt: 0 };
};

export const showClass: Handler = async (call) => {
  const name = param(call, 'name');
  if (!(await classesOf(call)).includes(name)) throw noSuchClass(name);
  return { status: 200, body: classBody(name), changedAt: 0 };
};

export const createClass: Handler = async (call) => {
  const { name } = bodyOf<{ name: string }>(call, RESOURCE_CLASS);
  const { ok } = await asked<{ made: boolean }>(call, { type: 'class-put', name });
  if (ok?.made !== true) throw new Problem(409, `Conflicting resource class already exists: ${name}`);
  return { status: 201, location: urlOf(name) };
};

/** Before 1.7 it gives the class another name; since then it makes sure that there is one. */
export const putClass: Handler = async (call) => (call.minor < 7 ? rename(call) : ensure(call));

async function rename(call: Call) {
  const name = param(call, 'name');
  const { name: to } = bodyOf<{ name: string }>(call, RESOURCE_CLASS);
  const { refused } = await asked(call, { type: 'class-rename', name, to });
  if (refused === undefined) return { status: 200 as const, body: classBody(to) };
  if (refused.code === 'no-class') throw noSuchClass(name);
  if (refused.code === 'class-standard') throw badRequest(`Cannot update standard resource class ${name}`);
  throw new Problem(409, `Resource class already exists: ${to}`);
}

async function ensure(call: Call) {
  const name = param(call, 'name');
  const fault = faultOf({ name }, RESOURCE_CLASS);
  if (fault !== null) throw badRequest(`JSON does not validate: ${fault}`);
  const { ok } = await asked<{ made: boolean }>(call, { type: 'class-put', name });
  return { status: ok?.made === true ? (201 as const) : (204 as const), location: urlOf(name) };
}

export const deleteClass: Handler = async (call) => {
  const name = param(call, 'name');
  const { refused } = await asked(call, { type: 'class-delete', name });
  if (refused === undefined) return { status: 204 };
  if (refused.code === 'no-class') throw noSuchClass(name);
  const error =
    refused.code === 'class-standard'
      ? `Cannot delete standard resource class ${name}.`
      : `Cannot delete resource class ${name}. Class is in use in inventory.`;
  if (refused.code === 'class-standard') throw badRequest(`Error in delete resource class: ${error}`);
  throw new Problem(409, `Error in delete resource class: ${error}`);
};
