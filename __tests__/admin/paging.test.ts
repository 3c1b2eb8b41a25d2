import fc from 'fast-check';
import { plantAttempt } from './planted.js';
import { openPlane, type Plane, START } from './plane.js';

const URL = 'https://example.com/hook';
/** The tenant of the run; one that no run before had. */
let tenantId: string;
let runs = 0;
let plane: Plane;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
});

interface Row {
  id: string;
  ms: number;
}

/** A list route: how a row of it comes to be at a time, and how a page is asked for. */
interface List {
  route: string;
  order: 'newest first' | 'oldest first';
  /** Once a run, before the rows. */
  prepare?(): Promise<void>;
  insert(ms: number, number: number): Promise<string>;
  page(limit: number, cursor: string | null): Promise<{ ids: string[]; next: string | null }>;
}

/** Moves the clock to where the row belongs: time may go back. */
function at(ms: number): void {
  plane.clock.advance(ms - plane.clock.now());
}

async function send(ms: number, data: number): Promise<string> {
  at(ms);
  return (await plane.sender.send({ type: 'a.b', data, tenantId })).id;
}

async function makeEndpoint(): Promise<string> {
  at(START);
  return (await plane.sender.endpoints.create({ url: URL, tenantId })).id;
}

function get(path: () => string, plural: string, as: () => string | undefined): List['page'] {
  return async (limit, cursor) => {
    const search = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) });
    const bound = as();
    const url = path();
    const asked = bound === undefined ? {} : { as: bound };
    const answer = await plane.ask(`GET ${url}${url.includes('?') ? '&' : '?'}${search}`, asked);
    expect(answer.status).toBe(200);
    const rows = answer.body[plural] as { id: string }[];
    return { ids: rows.map(({ id }) => id), next: answer.body.nextCursor };
  };
}

let endpointId = '';
let messageId = '';

const LISTS: List[] = [
  {
    route: 'GET /endpoints',
    order: 'newest first',
    async insert(ms) {
      at(ms);
      return (await plane.sender.endpoints.create({ url: URL, tenantId })).id;
    },
    page: get(
      () => '/endpoints?status=active',
      'endpoints',
      () => tenantId,
    ),
  },
  {
    route: 'GET /messages',
    order: 'newest first',
    insert: send,
    page: get(
      () => '/messages?type=a.b',
      'messages',
      () => tenantId,
    ),
  },
  {
    route: 'GET /messages?endpointId',
    order: 'newest first',
    async prepare() {
      endpointId = await makeEndpoint();
    },
    insert: send,
    page: get(
      () => `/messages?endpointId=${endpointId}`,
      'messages',
      () => undefined,
    ),
  },
  {
    route: 'GET /messages?tenantId',
    order: 'newest first',
    insert: send,
    page: get(
      () => `/messages?tenantId=${tenantId}`,
      'messages',
      () => undefined,
    ),
  },
  {
    route: 'GET /tenants',
    order: 'newest first',
    async prepare() {
      await plane.query('delete from hookplane_tenants');
    },
    async insert(ms, number) {
      at(ms);
      // Ids of the host's own, in no order, some of them long.
      const id = `${(number * 7919) % 1000}-${'東'.repeat((number * 31) % 251)}`;
      return (await plane.sender.tenants.setRateLimit(id, { perSecond: 1 })).id;
    },
    page: get(
      () => '/tenants',
      'tenants',
      () => undefined,
    ),
  },
  ...['/audit', '/audit?actor=ada&operation=tenants.setMetadata&since=2026-01-01'].map(
    (path): List => ({
      route: `GET ${path}`,
      order: 'newest first',
      async insert(ms, number) {
        at(ms);
        const requestId = `${tenantId} ${number}`;
        await plane.sender.forCaller({ actor: { id: 'ada' }, requestId }).tenants.setMetadata(tenantId, {});
        const made = await plane.query('select id from hookplane_audit_log where request_id = ?', requestId);
        return String(made[0]!.id);
      },
      page: get(
        () => path,
        'entries',
        () => tenantId,
      ),
    }),
  ),
  {
    route: 'GET /messages/:id/attempts',
    order: 'oldest first',
    async prepare() {
      endpointId = await makeEndpoint();
      messageId = await send(START, 0);
    },
    insert: async (startedAt, number) => plantAttempt(plane, { messageId, endpointId, number, startedAt }),
    page: get(
      () => `/messages/${messageId}/attempts`,
      'attempts',
      () => tenantId,
    ),
  },
  {
    route: 'GET /endpoints/:id/attempts',
    order: 'newest first',
    async prepare() {
      endpointId = await makeEndpoint();
      messageId = await send(START, 0);
    },
    insert: async (startedAt, number) => plantAttempt(plane, { messageId, endpointId, number, startedAt }),
    page: get(
      () => `/endpoints/${endpointId}/attempts`,
      'attempts',
      () => tenantId,
    ),
  },
  {
    route: 'GET /endpoints/:id/attempts?status',
    order: 'newest first',
    async prepare() {
      endpointId = await makeEndpoint();
      messageId = await send(START, 0);
    },
    async insert(startedAt, number) {
      await plantAttempt(plane, { messageId, endpointId, number, startedAt, status: 'succeeded' });
      return await plantAttempt(plane, { messageId, endpointId, number, startedAt });
    },
    page: get(
      () => `/endpoints/${endpointId}/attempts?status=failed&since=2026-01-01`,
      'attempts',
      () => tenantId,
    ),
  },
  {
    route: 'POST /reconcile',
    order: 'oldest first',
    async prepare() {
      endpointId = await makeEndpoint();
    },
    insert: send,
    async page(limit, cursor) {
      const range = { endpointId, since: '2026-01-01', until: '2026-02-01' };
      const json = { ...range, limit, ...(cursor !== null && { cursor }) };
      const answer = await plane.ask('POST /reconcile', { as: tenantId, json });
      expect(answer.status).toBe(200);
      return { ids: answer.body.messageIds as string[], next: answer.body.nextCursor };
    },
  },
];

/** Few times and many rows: most share their millisecond with others. */
const moment = fc.integer({ min: 0, max: 3 }).map((ms) => START + ms);
const walk = fc.record({
  rows: fc.array(moment, { maxLength: 40 }),
  limits: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
  /** What is inserted after each page, until there is no more. */
  meanwhile: fc.array(fc.array(moment, { maxLength: 3 }), { maxLength: 8 }),
});

function compare(order: List['order']): (a: Row, b: Row) => number {
  const sign = order === 'oldest first' ? 1 : -1;
  // As the store compares: by bytes.
  return (a, b) => sign * (a.ms - b.ms || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
}

describe.each(LISTS)('§4.1 a walk through $route', (list) => {
  it(`finds each row that was there throughout exactly once, ${list.order}`, async () => {
    await fc.assert(
      fc.asyncProperty(walk, async ({ rows, limits, meanwhile }) => {
        runs += 1;
        tenantId = `run ${runs}`;
        await list.prepare?.();
        const times = new Map<string, number>();
        const insert = async (ms: number) => void times.set(await list.insert(ms, times.size + 1), ms);
        for (const ms of rows) await insert(ms);
        const throughout = [...times.keys()];

        const found: string[] = [];
        let cursor: string | null = null;
        let pages = 0;
        do {
          const limit = limits[pages % limits.length]!;
          const page = await list.page(limit, cursor);
          expect(page.ids.length).toBeLessThanOrEqual(limit);
          // A page that says there is more is full, and there is more.
          if (pages > 0) expect(page.ids).not.toHaveLength(0);
          if (page.next !== null) expect(page.ids).toHaveLength(limit);
          found.push(...page.ids);
          cursor = page.next;
          for (const ms of meanwhile[pages] ?? []) await insert(ms);
          pages += 1;
          expect(pages).toBeLessThan(100);
        } while (cursor !== null);

        const order = compare(list.order);
        const toRows = (ids: string[]) => ids.map((id): Row => ({ id, ms: times.get(id)! }));
        expect(found).toEqual(
          toRows(found)
            .sort(order)
            .map(({ id }) => id),
        );
        expect(new Set(found).size).toBe(found.length);
        const kept = found.filter((id) => throughout.includes(id));
        expect(kept).toEqual(
          toRows(throughout)
            .sort(order)
            .map(({ id }) => id),
        );
      }),
      { numRuns: 25 },
    );
  });
});
