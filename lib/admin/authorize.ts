import type { Actor } from '../model/audit.js';
import { within } from '../model/deadline.js';
import { isTenantId } from '../model/tenant.js';
import { givenRequest, type LazyRequest } from './lazy-request.js';

/** What `authorize` is told of a request beside the request itself. */
export interface AuthorizeInfo {
  /** The name of the operation that is asked for, such as `endpoints.create`; null when no route matches. */
  operation: string | null;
  /** The ids in the path, decoded. */
  params: Readonly<Record<string, string>>;
  /** What the host framework has at hand: `{ req, res }` under Express and node:http. */
  host: unknown;
}

export type { Actor };

/**
 * A decision: `true` allows an unbound caller, `false` denies with 403. In the object form `status: 401` denies as
 * "not authenticated", and a `tenantId` binds the caller to that tenant. A `tenantId` that is there but is not a
 * non-empty string denies: leave the key out for a caller that may see every tenant. A malformed `actor` or `readOnly`
 * denies as well.
 */
export type Decision =
  | boolean
  | {
      allow: boolean;
      status?: 401 | 403;
      tenantId?: string;
      /** Who the caller is: an id, or an id with a name for people to read. */
      actor?: string | Actor;
      /** `true` refuses every method but GET and HEAD, and what shows a signing secret, with 403. */
      readOnly?: boolean;
      /** The sentence that a denied caller is told in place of the usual one. The caller is nobody yet: give no details. */
      publicMessage?: string;
      /** Reported to `onError` when the key is there: what went wrong on the way to this decision. It changes nothing. */
      fault?: unknown;
    };

/**
 * Decides who may enter (spec §5). It is asked for every request, also one that no route matches. Method and path are
 * matched first, so that it can be told the `operation`; nothing is made of them, and nothing of the query and the body
 * is looked at, before it has allowed the request.
 */
export type Authorize = (request: Request, info: AuthorizeInfo) => Decision | Promise<Decision>;

/** What is known of a caller who may enter. */
export interface Caller {
  /** Undefined for a caller that may see every tenant. */
  tenantId: string | undefined;
  /** Undefined when the authorizer named nobody. */
  actor: Actor | undefined;
  readOnly: boolean;
}

/** `fault` is there, though it may be anything, when something is wrong with the authorizer itself. */
export type Verdict =
  | ({ allowed: true; fault?: unknown } & Caller)
  | { allowed: false; status: 401 | 403; publicMessage?: string; fault?: unknown };

/** How long an authorizer has: a request that waits for it holds a connection of the host. */
export const AUTHORIZE_MS = 10_000;

/** An authorizer that asks for the native request only if it needs it. */
type LazyAuthorize = (request: LazyRequest, info: AuthorizeInfo) => Decision | Promise<Decision>;

/**
 * By the function itself: whatever is made around it, a proxy or a copy of its properties, decides by itself. One of
 * another copy of the package is given the native request.
 */
const LAZY = new WeakMap<Authorize, LazyAuthorize>();

/** Makes an authorizer of one that goes by the head of a request, and by the request itself only if it asks for it. */
export function lazyAuthorizer(ask: LazyAuthorize): Authorize {
  const authorize: Authorize = (request, info) => ask(givenRequest(request), info);
  LAZY.set(authorize, ask);
  return authorize;
}

/**
 * Decides on what an authorizer has found in a request. An arrow function of one plain parameter, such as `(user) => …`, is
 * called with that alone, so that no `Request` need be made for it; every other function gets all three.
 */
export type Decider<Found, Answer = Decision | Promise<Decision>> = (
  found: Found,
  request: Request,
  info: AuthorizeInfo,
) => Answer;

/** An arrow function of no parameter, or of one without a default: of all functions these surely take no second argument. */
const TAKES_ONE = /^(?:async\s*)?(?:\(\s*(?:[\w$]+|\{[^(){}=]*\})?\s*,?\s*\)|[\w$]+)\s*=>/;

/** A decider that is asked without the native request, and without `info`, where it is written so that it takes neither. */
export function lazyDecider<Found, Answer>(
  decider: Decider<Found, Answer>,
): (found: Found, request: LazyRequest, info: AuthorizeInfo) => Answer {
  if (TAKES_ONE.test(Function.prototype.toString.call(decider))) {
    return (found) => (decider as (found: Found) => Answer)(found);
  }
  return (found, request, info) => decider(found, request.native(), info);
}

/** Asks the authorizer; whatever is not clearly a yes, in time, is a no. */
export function decide(authorize: Authorize, request: LazyRequest, info: AuthorizeInfo): Promise<Verdict> {
  const ask = LAZY.get(authorize);
  return judge(() => (ask ? ask(request, info) : authorize(request.native(), info)));
}

/** What is made of an answer to the question who may enter. */
export async function judge(ask: () => unknown): Promise<Verdict> {
  try {
    const answer = ask();
    const decision = isThenable(answer)
      ? await within(Promise.resolve(answer), AUTHORIZE_MS, 'authorize')
      : answer;
    if (decision === true) return { allowed: true, tenantId: undefined, actor: undefined, readOnly: false };
    if (decision === false) return { allowed: false, status: 403 };
    return readDecision(decision);
  } catch (fault) {
    return { allowed: false, status: 403, fault };
  }
}

/** One that answers at once, as most do, needs no timer. */
export function isThenable<Answer>(answer: Answer | Promise<Answer>): answer is Promise<Answer> {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === 'function';
}

/** The decision that leads to a verdict, for authorizers that ask others. */
export function toDecision(verdict: Verdict): Exclude<Decision, boolean> {
  const fault = 'fault' in verdict ? { fault: verdict.fault } : undefined;
  if (!verdict.allowed) {
    const { status, publicMessage } = verdict;
    return { allow: false, status, ...(publicMessage !== undefined && { publicMessage }), ...fault };
  }
  const { tenantId, actor, readOnly } = verdict;
  return {
    allow: true,
    readOnly,
    ...(tenantId !== undefined && { tenantId }),
    ...(actor && { actor }),
    ...fault,
  };
}

/** Whether a method leaves everything as it is (RFC 9110, §9.2.1). The rest of its safe methods no route has. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Every property is read once: a getter could say something else the second time. */
function readDecision(decision: unknown): Verdict {
  if (typeof decision !== 'object' || decision === null || Array.isArray(decision)) {
    throw malformed(`${kindOf(decision)}: it must answer a boolean, or an object with a boolean "allow"`);
  }
  const { allow, status } = decision as { allow?: unknown; status?: unknown };
  if (typeof allow !== 'boolean') {
    throw malformed(`an object whose "allow" is ${kindOf(allow)}: it must be a boolean`);
  }
  const fault = 'fault' in decision ? { fault: decision.fault } : undefined;
  if (!allow) {
    return { allowed: false, status: status === 401 ? 401 : 403, ...readPublicMessage(decision), ...fault };
  }
  return {
    allowed: true,
    tenantId: readTenantId(decision),
    actor: readActor(decision),
    readOnly: readReadOnly(decision),
    ...fault,
  };
}

function readPublicMessage(decision: object): { publicMessage: string } | undefined {
  const { publicMessage } = decision as { publicMessage?: unknown };
  return typeof publicMessage === 'string' && publicMessage !== '' ? { publicMessage } : undefined;
}

function readTenantId(decision: object): string | undefined {
  if (!('tenantId' in decision)) return undefined;
  const { tenantId } = decision;
  if (isTenantId(tenantId)) return tenantId;
  if (typeof tenantId === 'string' && tenantId !== '') {
    throw malformed('a tenantId that is too long, or holds control characters: no tenant has such an id');
  }
  throw malformed(
    `a tenantId that is ${kindOf(tenantId)}: it must be a non-empty string; leave the key out for a caller that may see every tenant`,
  );
}

function readActor(decision: object): Actor | undefined {
  if (!('actor' in decision)) return undefined;
  const { actor } = decision;
  if (typeof actor !== 'object' || actor === null) return { id: readActorId(actor, 'actor') };
  const { id, name } = actor as { id?: unknown; name?: unknown };
  const identified = { id: readActorId(id, 'actor.id') };
  if (name === undefined) return identified;
  if (typeof name !== 'string') throw malformed(`an actor.name that is ${kindOf(name)}: it must be a string`);
  return { ...identified, name };
}

function readActorId(id: unknown, what: string): string {
  if (typeof id === 'string' && id !== '') return id;
  throw malformed(
    `an ${what} that is ${kindOf(id)}: it must be a non-empty string; leave actor out for a caller without a name`,
  );
}

function readReadOnly(decision: object): boolean {
  if (!('readOnly' in decision)) return false;
  const { readOnly } = decision;
  if (typeof readOnly === 'boolean') return readOnly;
  throw malformed(`a readOnly that is ${kindOf(readOnly)}: it must be a boolean`);
}

function malformed(answer: string): TypeError {
  return new TypeError(`authorize answered ${answer}`);
}

function kindOf(value: unknown): string {
  if (value === '') return 'an empty string';
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
