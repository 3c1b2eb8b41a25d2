import { expectError } from './expectations.js';
import { plantAttempt } from './planted.js';
import { openPlane, type Plane } from './plane.js';

const URL = 'https://example.com/hook';
const SINCE = '2026-01-01';
const ROWS = 1005;

interface List {
  /** Asks for a page. */
  route: string;
  plural: string;
  ask(page: { limit?: unknown; cursor?: unknown }): ReturnType<Plane['ask']>;
}

describe('every list route', () => {
  let plane: Plane;
  let endpointId: string;
  let messageId: string;
  beforeAll(async () => {
    plane = await openPlane({ lifetime: 'file' });
    const owner = { url: URL, tenantId: 'acme', types: ['x'] };
    endpointId = (await plane.sender.endpoints.create(owner)).id;
    const many = Array.from({ length: ROWS }, (_, n) => ({ type: 'x', data: n, tenantId: 'acme' }));
    messageId = (await plane.sender.sendMany(many))[0]!.id;
    await multiply('hookplane_endpoints', endpointId);
    await multiply('hookplane_tenants', 'acme');
    await multiply('hookplane_attempts', await plantAttempt(plane, { messageId, endpointId }));
  });

  /** Copies a row until there are as many as wanted. */
  async function multiply(table: string, id: string): Promise<void> {
    const [row] = await plane.query(`select * from ${table} where id = ?`, id);
    const columns = Object.keys(row!)
      .filter((name) => name !== 'id')
      .map((name) => `"${name}"`);
    await plane.query(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS - 1})
      insert into ${table} (id, ${columns}) select id || '-' || i, ${columns} from ${table}, n where id = ?`,
      id,
    );
  }

  const get = (route: string, plural: string): List => ({
    route,
    plural,
    ask: (page) => {
      const path = route.replace(':id', messageId);
      const given = Object.entries(page).map(([name, value]) => [name, String(value)]);
      return plane.ask(`${path}?${new URLSearchParams(given)}`);
    },
  });
  const lists: List[] = [
    get('GET /endpoints', 'endpoints'),
    get('GET /messages', 'messages'),
    get('GET /tenants', 'tenants'),
    get('GET /messages/:id/attempts', 'attempts'),
    {
      route: 'POST /reconcile',
      plural: 'messageIds',
      ask: (page) => plane.ask('POST /reconcile', { json: { endpointId, since: SINCE, ...page } }),
    },
  ];

  it.each(lists)(
    '§4.1 and §8 $route has 100 rows a page by default, and the rest by cursor',
    async (list) => {
      const first = await list.ask({});
      expect(first.body[list.plural]).toHaveLength(100);
      const last = await list.ask({ cursor: first.body.nextCursor, limit: 1000 });
      expect(last.body[list.plural]).toHaveLength(ROWS - 100);
      expect(last.body.nextCursor).toBeNull();
      const rows = [first, last].flatMap((page) => page.body[list.plural] as unknown[]);
      expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(ROWS);
    },
  );

  it.each(lists)('§4.1 $route is never unbounded: above 1000 a limit means 1000', async (list) => {
    for (const limit of [1000, 1001, 999_999, Number.MAX_SAFE_INTEGER]) {
      const answer = await list.ask({ limit });
      expect(answer.body[list.plural]).toHaveLength(1000);
      expect(answer.body.nextCursor).toEqual(expect.any(String));
    }
  });

  it.each(lists)('§7 and §8 $route refuses a limit that is not positive', async (list) => {
    for (const limit of [0, -1, 1.5, '', 'ten']) expectError(await list.ask({ limit }), 'INVALID_QUERY');
  });

  it.each(lists)('§7 $route refuses a malformed cursor', async (list) => {
    for (const cursor of ['x', '', 'bnVsbA', '[]']) expectError(await list.ask({ cursor }), 'INVALID_QUERY');
  });

  it('§8 POST /replay has 100 rows a page by default, and refuses the same', async () => {
    const replay = (page: object) =>
      plane.ask('POST /replay', { json: { endpointId, since: SINCE, dryRun: true, ...page } });
    const first = await replay({});
    expect(first.body).toEqual({ replayed: 100, nextCursor: expect.any(String) });
    const largest = await replay({ limit: 5000 });
    expect(largest.body).toEqual({ replayed: 1000, nextCursor: expect.any(String) });
    const last = await replay({ cursor: largest.body.nextCursor });
    expect(last.body).toEqual({ replayed: ROWS - 1000, nextCursor: null });
    for (const page of [{ limit: 0 }, { limit: -1 }, { limit: '5' }, { limit: null }, { cursor: 'x' }]) {
      expectError(await replay(page), 'INVALID_QUERY');
      expectError(await plane.ask('POST /replay', { json: { messageId, ...page } }), 'INVALID_QUERY');
    }
  });
});
