import type { Endpoint } from '../../../lib/model/endpoint.js';
import { createId } from '../../../lib/model/ids.js';
import type { Position } from '../../../lib/model/page.js';
import type {
  EndpointSettings,
  Lane,
  LeasedDelivery,
  LeaseKey,
  LeaseRequest,
  EndpointNews,
  NewAttempt,
  NewMessage,
  PageOf,
  Settlement,
  Shares,
  Store,
  Turn,
  TurnResult,
} from '../../../lib/store/store.js';

/** Where the endpoints of these tests are. */
export const ENDPOINT_URL = 'https://example.com/hook';

/** The moment at which things happen unless a test says otherwise. */
export const T0 = Date.parse('2026-05-01T12:00:00.000Z');
export const LEASE_MS = 60_000;

export const SETTINGS: EndpointSettings = {
  url: ENDPOINT_URL,
  description: null,
  types: null,
  channels: null,
  filter: null,
  headers: {},
  metadata: {},
  retry: null,
  rateLimit: null,
  maxInFlight: null,
  timeoutMs: null,
};

export type EndpointFixture = Partial<EndpointSettings> & {
  tenantId?: string | null;
  secret?: string;
  now?: number;
};

export function addEndpoint(store: Store, fixture: EndpointFixture = {}): Promise<Endpoint> {
  const { tenantId = null, secret = 'whsec_first', now = T0, ...settings } = fixture;
  return store.endpoints.insert(
    { ...SETTINGS, ...settings, id: createId('ep', now), tenantId },
    { id: createId('sec', now), secret },
    now,
  );
}

export function newMessage(endpointIds: string[], fixture: Partial<NewMessage> = {}): NewMessage {
  const { createdAt = T0, type = 'invoice.paid' } = fixture;
  return {
    id: createId('msg', createdAt),
    tenantId: null,
    type,
    channels: null,
    idempotencyKey: null,
    fingerprint: '',
    payload: `{"type":"${type}","timestamp":"${new Date(createdAt).toISOString()}","data":{}}`,
    traceContext: null,
    createdAt,
    expiresAt: createdAt + 30 * 86_400_000,
    owedTo: endpointIds,
    ...fixture,
  };
}

/** Stores a message and answers its id. */
export async function addMessage(
  store: Store,
  endpointIds: string[],
  fixture: Partial<NewMessage> = {},
): Promise<string> {
  const message = newMessage(endpointIds, fixture);
  await store.messages.insert([message], true);
  return message.id;
}

/** Stores as many messages to one endpoint, a millisecond apart, and answers their ids, oldest first. */
export async function addMessages(store: Store, endpointId: string, count: number): Promise<string[]> {
  const messages = Array.from({ length: count }, (_each, index) =>
    newMessage([endpointId], { createdAt: T0 + index }),
  );
  await store.messages.insert(messages, true);
  return messages.map(({ id }) => id);
}

/** Lets every lane take as many as it is given, one by default more than any test stores. */
export function each(quota = 1000): (lanes: readonly Lane[]) => Shares {
  return (lanes) => ({ quotas: new Map(lanes.map((lane) => [lane.endpointId, quota])), nextAt: null });
}

/** A turn of a worker that settles, gives back and leases nothing, but for what is given. */
export function turn(store: Store, given: Partial<Turn>): Promise<TurnResult> {
  return store.outbox.turn({
    owner: 'worker',
    now: T0,
    settlements: [],
    news: [],
    release: [],
    lease: null,
    apart: false,
    ...given,
  });
}

export type LeaseFixture = Partial<LeaseRequest & Pick<Turn, 'owner' | 'now'>>;

/** Leases all that is due, and answers the deliveries. */
export async function lease(store: Store, fixture: LeaseFixture = {}): Promise<LeasedDelivery[]> {
  const { leaseMs = LEASE_MS, share = each(), ...rest } = fixture;
  return (await turn(store, { ...rest, lease: { leaseMs, share } })).leased;
}

export async function release(store: Store, leases: readonly LeaseKey[], owner = 'worker'): Promise<void> {
  await turn(store, { owner, release: leases });
}

export async function settle(
  store: Store,
  settlements: readonly Settlement[],
  {
    owner = 'worker',
    news = [],
    now = T0,
  }: { owner?: string; news?: readonly EndpointNews[]; now?: number } = {},
): Promise<Pick<TurnResult, 'refused' | 'paused' | 'recovered'>> {
  const { refused, paused, recovered } = await turn(store, { owner, settlements, news, now });
  return { refused, paused, recovered };
}

/** The lanes that `share` is shown. */
export async function lanesAt(store: Store, now: number): Promise<readonly Lane[]> {
  let shown: readonly Lane[] = [];
  await lease(store, {
    now,
    share(lanes) {
      shown = lanes;
      return { quotas: new Map(), nextAt: null };
    },
  });
  return shown;
}

export function attemptOf(leased: LeasedDelivery, fixture: Partial<NewAttempt> = {}): NewAttempt {
  const { startedAt = T0 } = fixture;
  return {
    id: createId('att', startedAt),
    number: leased.attemptCount + 1,
    status: 'succeeded',
    trigger: leased.trigger,
    startedAt,
    durationMs: 5,
    requestUrl: leased.target.endpoint.url,
    remoteAddress: '192.0.2.1',
    responseStatus: 200,
    responseHeaders: { 'x-a': 'b' },
    responseBody: 'ok',
    errorKind: null,
    error: null,
    nextAttemptAt: null,
    ...fixture,
  };
}

/** A settlement of a leased delivery: delivered, unless the fixture says otherwise. */
export function settlementOf(leased: LeasedDelivery, fixture: Partial<Settlement> = {}): Settlement {
  const { status = 'delivered', dueAt = T0 } = fixture;
  const { messageId, endpointId, fence } = leased;
  const failed = status !== 'delivered';
  return {
    messageId,
    endpointId,
    fence,
    status,
    dueAt,
    attemptCount: leased.attemptCount + (fixture.attempt === null ? 0 : 1),
    scheduleStep: failed ? leased.scheduleStep + 1 : 0,
    lost: false,
    lastError: failed ? 'The receiver answered 500.' : null,
    attempt: attemptOf(leased, failed ? { status: 'failed', responseStatus: 500 } : {}),
    ...fixture,
  };
}

/** Leases one delivery and settles it. */
export async function finish(
  store: Store,
  messageId: string,
  endpointId: string,
  fixture: Partial<Settlement> = {},
  now = T0,
): Promise<LeasedDelivery> {
  const leased = await lease(store, {
    now,
    share: () => ({ quotas: new Map([[endpointId, 1000]]), nextAt: null }),
  });
  const found = leased.find((one) => one.messageId === messageId);
  if (!found) throw new Error('the delivery was not due');
  await release(
    store,
    leased.filter((one) => one !== found),
  );
  await settle(store, [settlementOf(found, fixture)], { now });
  return found;
}

/** The state of one delivery. */
export async function deliveryOf(store: Store, messageId: string, endpointId: string) {
  const found = await store.messages.get(undefined, messageId);
  return found?.deliveries.find((delivery) => delivery.endpointId === endpointId);
}

export async function statusOf(store: Store, messageId: string): Promise<string | undefined> {
  return (await store.messages.get(undefined, messageId))?.message.status;
}

/** The position that a message sent at this moment would have. */
export function positionAt(ms: number): Position {
  return { ms, id: createId('msg', ms) };
}

/** Walks a list page by page to its end. */
export async function walk<Row>(page: (after: Position | null) => Promise<PageOf<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  let after: Position | null = null;
  do {
    const found: PageOf<Row> = await page(after);
    rows.push(...found.rows);
    after = found.next;
  } while (after !== null);
  return rows;
}
