// The body of an answer that tells a problem, worded as webob words it, because clients match on parts of it.

import type { ApiRefusal } from '../../actors/messages/placement-api.ts';
import { qualityOf } from './accept.ts';
import type { Problem, ProblemStatus } from './problem.ts';

const TITLES: Readonly<Record<ProblemStatus, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  409: 'Conflict',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

const EXPLANATIONS: Readonly<Partial<Record<ProblemStatus, string>>> = {
  400: 'The server could not comply with the request since it is either malformed or otherwise incorrect.',
  401:
    'This server could not verify that you are authorized to\naccess the document you requested.  Either you supplied ' +
    'the\nwrong credentials (e.g., bad password), or your browser\ndoes not understand how to supply the credentials ' +
    'required.\n',
  403: 'Access was denied to this resource.',
  404: 'The resource could not be found.',
  409: 'There was a conflict when trying to complete your request.',
  413: 'The body of your request was too large for this server.',
  500: 'The server has either erred or is incapable of performing the requested operation.',
  503: 'The server is currently unavailable. Please try again at a later time.',
};

/** What the answer needs to know of the request. */
export interface ProblemContext {
  readonly method: string;
  readonly accept: string;
  readonly contentType: string;
  readonly requestId: string;
  /** The minor microversion; null when none could be agreed on. */
  readonly minor: number | null;
}

/** The body of an answer that tells a problem, and its type. */
export function problemBody(problem: Problem, context: ProblemContext): { body: string; contentType: string } {
  const title = TITLES[problem.status];
  const status = `${problem.status} ${title}`;
  const asHtml = qualityOf(context.accept, 'text/html');
  const asJson = qualityOf(context.accept, 'application/json');
  if (asHtml > 0 && asHtml >= asJson) {
    const shown = detailOf(problem, context, escaped);
    const head = ` <head>\n  <title>${status}</title>\n </head>`;
    return {
      contentType: 'text/html; charset=UTF-8',
      body: `<html>\n${head}\n <body>\n  <h1>${status}</h1>\n  ${shown}\n </body>\n</html>`,
    };
  }
  const detail = withoutTags(detailOf(problem, context, (text) => text));
  if (asJson === 0) {
    return { contentType: 'text/plain; charset=UTF-8', body: `${status}\n\n${detail}` };
  }
  const error = {
    status: problem.status,
    title,
    detail,
    ...(context.minor !== null && context.minor >= 23 ? { code: problem.code } : {}),
    ...(problem.refusal === undefined ? {} : { refusal: refusalBody(problem.refusal) }),
    request_id: context.requestId,
    ...(problem.status === 406 && context.minor === null ? { max_version: '1.39', min_version: '1.0' } : {}),
  };
  return { contentType: 'application/json', body: JSON.stringify({ errors: [error] }) };
}

function refusalBody(refusal: ApiRefusal): Record<string, unknown> {
  const { code, message, provider, resourceClass, consumer, requested, short, expected, given } = refusal;
  return {
    code,
    message,
    resource_provider: provider,
    resource_class: resourceClass,
    consumer,
    requested,
    short,
    expected,
    given,
  };
}

/** The words of a problem, with breaks of HTML in them as webob has them; `written` is for what comes from outside. */
function detailOf(
  { status, message: said }: Problem,
  { method, accept, contentType }: ProblemContext,
  written: (text: string) => string,
): string {
  const message = written(said);
  if (status === 405) return `The method ${method} is not allowed for this resource. <br /><br />\n${message}`;
  if (status === 406) {
    const explanation = 'The resource could not be generated that was acceptable to your browser\n';
    return `${explanation}(content of type ${written(accept)}. <br /><br />\n${message}`;
  }
  if (status === 415) {
    const explanation = `The request media type ${written(contentType)} is not supported by this server.`;
    return `${explanation}\n<br /><br />\n${message}`;
  }
  return `${written(EXPLANATIONS[status] ?? '')}<br /><br />\n${message}\n\n`;
}

/** As webob does before it tells a text as JSON: line ends become spaces, breaks line ends, and tags go. */
function withoutTags(text: string): string {
  const broken = replacedInTags(text.replaceAll('\n', ' ').replaceAll('\r', ''), /<br.*?>/gis, '\n');
  return replacedInTags(broken.replace(/<!--|-->/g, ''), /<.*?>/gs, '');
}

/** Up to the last `>` alone: after it each `<` would be looked for an end to the end of the text, which may be long. */
function replacedInTags(text: string, tag: RegExp, by: string): string {
  const end = text.lastIndexOf('>') + 1;
  return text.slice(0, end).replace(tag, by) + text.slice(end);
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#x27;');
}
