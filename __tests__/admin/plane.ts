import Database from 'better-sqlite3';
import type { AdminHandler, AdminHandlerOptions, HostContext } from '../../lib/admin/handler.js';
import { createAdminHandler, createControlPlane } from '../../lib/admin/handler.js';
import { incomingOf } from '../../lib/admin/incoming.js';
import { toResponse } from '../../lib/admin/response.js';
import type { Issue } from '../../lib/model/errors.js';
import type { Sender } from '../../lib/sender/sender.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store } from '../../lib/store/store.js';
import { type Lifetime, onCleanUp } from '../support/clean-up.js';
import { type Clock, createClock } from '../support/clock.js';
import { startSender, type TestSender, type TestSenderOptions } from '../support/sender.js';
import { newPlace, onPostgres, queryAt, type Row, rowsAt, storeAt } from '../support/test-store.js';

export const START = Date.parse('2026-01-15T12:00:00.000Z');
export const START_ISO = '2026-01-15T12:00:00.000Z';

export interface Asked {
  /** The tenant that the caller is bound to; left out, it is bound to none. */
  as?: string;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, as JSON unless `headers` say otherwise. */
  body?: BodyInit;
  headers?: Record<string, string>;
  context?: HostContext;
}

/** The fields of any answer's body that tests look at one by one; the rest are compared whole. */
export interface Body {
  [field: string]: unknown;
  id: string;
  errorCode?: string;
  error: string;
  issues?: Issue[];
  requestId?: string;
  nextCursor: string | null;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The text as JSON; undefined when it is none. */
  body: Body;
}

export interface Plane {
  sender: TestSender;
  handler: AdminHandler;
  /** Runs a statement with a `?` for each value past the sender, and answers its rows. */
  query(text: string, ...values: unknown[]): Promise<Row[]>;
  clock: Clock;
  /** What `onError` was told. */
  faults: { error: unknown; requestId: string }[];
  /** Asks as in `ask('GET /endpoints?limit=1')`. */
  ask(route: string, asked?: Asked): Promise<Answer>;
}

export interface PlaneOptions extends TestSenderOptions {
  admin?: AdminHandlerOptions;
}

const TENANT_HEADER = 'x-test-tenant';

/** Ends every attempt before its request: these tests ask all routes, and none may reach the hosts they name. */
const unsendable = () => ({
  transform() {
    throw new Error('nothing is sent');
  },
});

/**
 * A control plane over a sender with a store of its own. The sender is not started, so that nothing but the requests of the
 * test changes anything, and its clock stands still.
 */
export async function openPlane({
  admin,
  lifetime = 'test',
  file: given,
  store,
  ...options
}: PlaneOptions = {}): Promise<Plane> {
  const file = given ?? (await newPlace(lifetime));
  const clock = createClock(START);
  const sender = await startSender({
    file,
    store: store ?? (onPostgres ? await storeAt(file) : quickStore(file, lifetime)),
    started: false,
    lifetime,
    now: clock.now,
    endpointHooks: unsendable,
    ...options,
  });
  // Opens the store, so that a test can plant rows at once.
  await sender.health();
  const faults: Plane['faults'] = [];
  const adminOptions: AdminHandlerOptions = {
    authorize: authorizeByHeader,
    onError: (error, { requestId }) => void faults.push({ error, requestId }),
    ...admin,
  };
  const handler = createAdminHandler(sender, adminOptions);
  const hosted = hostedHandler(sender, adminOptions);
  return {
    sender,
    handler,
    query: (text, ...values) => queryAt(file, text, values),
    clock,
    faults,
    ask: (route, { context, ...asked } = {}) =>
      answerOf((context ? hosted : handler)(requestOf(route, asked), context)),
  };
}

/** The control plane as a host sees it that knows better than the Request what was asked. */
export function hostedHandler(sender: Sender, options: AdminHandlerOptions) {
  const plane = createControlPlane(sender, options);
  return async (request: Request, context: HostContext = {}) =>
    toResponse(await plane(() => incomingOf(request), context));
}

/** One that does not wait for the disk. */
function quickStore(file: string, lifetime: Lifetime): Store {
  const database = new Database(file);
  onCleanUp(lifetime, 'folder', async () => database.close());
  return sqliteStore({ database, synchronous: 'normal' });
}

/** Anybody may enter; who names a tenant in a header is bound to it. */
function authorizeByHeader(request: Request) {
  const tenant = request.headers.get(TENANT_HEADER);
  return tenant === null ? true : { allow: true, tenantId: decodeURIComponent(tenant) };
}

export const ORIGIN = 'http://localhost';

/** The request of `'POST /endpoints'`. */
export function requestOf(route: string, { as, json, body, headers = {} }: Asked = {}): Request {
  const space = route.indexOf(' ');
  const sent = json === undefined ? body : JSON.stringify(json);
  const init: RequestInit & { duplex?: 'half' } = {
    method: route.slice(0, space),
    headers: {
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...(as !== undefined && { [TENANT_HEADER]: encodeURIComponent(as) }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent, duplex: 'half' }),
  };
  return new Request(`${ORIGIN}${route.slice(space + 1)}`, init);
}

export async function answerOf(answering: Promise<Response>): Promise<Answer> {
  const response = await answering;
  const text = await response.text();
  const isJson = text !== '' && !response.headers.get('content-type')?.startsWith('text/plain');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : undefined) as Body,
  };
}

/** Everything that is stored, row by row: two that are equal mean that nothing was changed in between. */
export function dump({ sender }: Plane): Promise<Record<string, unknown[]>> {
  return rowsAt(sender.file);
}

/** What is wrong with which field, in the order of the answer. */
export function paths(answer: Answer): string[] {
  return (answer.body.issues ?? []).map((issue) => issue.path);
}
