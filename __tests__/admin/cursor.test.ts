import fc from 'fast-check';
import { expectError } from './expectations.js';
import { plantAttempt } from './planted.js';
import { openPlane, type Plane } from './plane.js';

const URL = 'https://example.com/hook';
let plane: Plane;
let endpointId: string;
let otherEndpointId: string;
let messageIds: string[];
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  for (const tenantId of ['a', 'b']) {
    // More than one, so that a message is owed to more than a page holds.
    for (let n = 0; n < 3; n += 1) {
      otherEndpointId = endpointId;
      endpointId = (await plane.sender.endpoints.create({ url: URL, tenantId })).id;
    }
    const caller = plane.sender.forCaller({ tenantId, actor: { id: 'x' } });
    for (let n = 0; n < 3; n += 1) await caller.tenants.setMetadata(tenantId, {});
    messageIds = [];
    for (const data of [1, 2, 3]) {
      const { id } = await plane.sender.send({ type: 'x', data, tenantId });
      for (const number of [1, 2]) {
        await plantAttempt(plane, { messageId: id, endpointId, number });
        await plantAttempt(plane, { messageId: id, endpointId: otherEndpointId, number });
      }
      messageIds.push(id);
    }
  }
});

const SINCE = '2026-01-01';

/** Every way to ask for a page: the path with its filters, or the body. */
const LISTS: { name: string; path?: () => string; json?: () => { route: string; json: object } }[] = [
  { name: 'GET /endpoints', path: () => '/endpoints' },
  { name: 'GET /endpoints?status', path: () => '/endpoints?status=active' },
  { name: 'GET /endpoints?tenantId', path: () => '/endpoints?tenantId=b' },
  { name: 'GET /messages', path: () => '/messages' },
  { name: 'GET /messages?type', path: () => '/messages?type=x' },
  { name: 'GET /messages?status', path: () => '/messages?status=pending' },
  { name: 'GET /messages?type of two', path: () => '/messages?type=x,y' },
  { name: 'GET /messages?since', path: () => `/messages?since=${SINCE}` },
  { name: 'GET /messages?until', path: () => '/messages?until=2026-02-01' },
  { name: 'GET /messages?since, another', path: () => '/messages?since=2026-01-02' },
  { name: 'GET /messages?tenantId', path: () => '/messages?tenantId=b' },
  { name: 'GET /messages?endpointId', path: () => `/messages?endpointId=${endpointId}` },
  { name: 'GET /messages/:id/attempts', path: () => `/messages/${messageIds[0]}/attempts` },
  { name: 'GET /messages/:id/attempts of another', path: () => `/messages/${messageIds[1]}/attempts` },
  {
    name: 'GET /messages/:id/attempts?status',
    path: () => `/messages/${messageIds[0]}/attempts?status=failed`,
  },
  { name: 'GET /endpoints/:id/attempts', path: () => `/endpoints/${endpointId}/attempts` },
  { name: 'GET /endpoints/:id/attempts of another', path: () => `/endpoints/${otherEndpointId}/attempts` },
  {
    name: 'GET /endpoints/:id/attempts?status',
    path: () => `/endpoints/${endpointId}/attempts?status=failed`,
  },
  {
    name: 'GET /endpoints/:id/attempts?since',
    path: () => `/endpoints/${endpointId}/attempts?since=${SINCE}`,
  },
  {
    name: 'GET /endpoints/:id/attempts?until',
    path: () => `/endpoints/${endpointId}/attempts?until=2026-02-01`,
  },
  { name: 'GET /tenants', path: () => '/tenants' },
  { name: 'GET /audit', path: () => '/audit' },
  { name: 'GET /audit?tenantId', path: () => '/audit?tenantId=b' },
  { name: 'GET /audit?actor', path: () => '/audit?actor=x' },
  { name: 'GET /audit?operation', path: () => '/audit?operation=tenants.setMetadata' },
  { name: 'GET /audit?targetId', path: () => '/audit?targetId=b' },
  { name: 'GET /audit?since', path: () => `/audit?since=${SINCE}` },
  { name: 'GET /audit?until', path: () => '/audit?until=2026-02-01' },
  { name: 'POST /reconcile', json: () => ({ route: 'POST /reconcile', json: { endpointId, since: SINCE } }) },
  {
    name: 'POST /reconcile with until',
    json: () => ({ route: 'POST /reconcile', json: { endpointId, since: SINCE, until: '2026-02-01' } }),
  },
  {
    name: 'POST /replay',
    json: () => ({ route: 'POST /replay', json: { endpointId, since: SINCE, dryRun: true } }),
  },
  {
    name: 'POST /replay of a message',
    json: () => ({ route: 'POST /replay', json: { messageId: messageIds[0], dryRun: true } }),
  },
  {
    name: 'POST /replay of another message',
    json: () => ({ route: 'POST /replay', json: { messageId: messageIds[1], dryRun: true } }),
  },
  {
    name: 'POST /replay with types',
    json: () => ({ route: 'POST /replay', json: { endpointId, since: SINCE, dryRun: true, types: ['x'] } }),
  },
  {
    name: 'POST /replay with status',
    json: () => ({
      route: 'POST /replay',
      json: { endpointId, since: SINCE, dryRun: true, status: 'pending' },
    }),
  },
];

async function ask(list: (typeof LISTS)[number], cursor?: string) {
  if (list.json) {
    const { route, json } = list.json();
    return plane.ask(route, { json: { ...json, limit: 1, ...(cursor !== undefined && { cursor }) } });
  }
  const path = list.path!();
  const search = new URLSearchParams({ limit: '1', ...(cursor !== undefined && { cursor }) });
  return plane.ask(`GET ${path}${path.includes('?') ? '&' : '?'}${search}`);
}

describe.each(LISTS)('the cursor of $name', (list) => {
  it('goes on there, and nowhere else', async () => {
    const first = await ask(list);
    expect(first.status).toBe(200);
    const cursor = first.body.nextCursor!;
    expect(cursor).toMatch(/^[\w-]{1,256}$/);
    for (const other of LISTS) {
      const answer = await ask(other, cursor);
      if (other === list) expect(answer.status).toBe(200);
      else expectError(answer, 'INVALID_QUERY');
    }
  });

  it('is the same for any limit', async () => {
    const { nextCursor } = (await ask(list)).body;
    expect((await ask(list, nextCursor!)).body.nextCursor).not.toBe(nextCursor);
  });
});

describe('§7 a cursor that was not given so', () => {
  const list = LISTS.find(({ name }) => name === 'GET /messages')!;
  let cursor: string;
  beforeAll(async () => {
    cursor = (await ask(list)).body.nextCursor!;
  });

  it('is refused when it is cut, anywhere', async () => {
    for (let length = 0; length < cursor.length; length += 1) {
      expectError(await ask(list, cursor.slice(0, length)), 'INVALID_QUERY');
      expectError(await ask(list, cursor.slice(length + 1)), 'INVALID_QUERY');
    }
  });

  it('is refused when any of its bits is another', async () => {
    for (const bytes of [Buffer.from(cursor), Buffer.from(cursor, 'base64url')]) {
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        const text = flipped.toString(bytes.length === cursor.length ? 'latin1' : 'base64url');
        expectError(await ask(list, text), 'INVALID_QUERY');
      }
    }
  });

  it('is refused when it is written in another way', async () => {
    const fields = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const write = (value: unknown, space?: number) =>
      Buffer.from(JSON.stringify(value, undefined, space)).toString('base64url');
    expect(write(fields)).toBe(cursor);
    const padded = Buffer.from(JSON.stringify(fields)).toString('base64');
    const others = [
      `${padded}${padded.endsWith('=') ? '' : '='}`,
      ` ${cursor}`,
      `${cursor} `,
      `${cursor}\n`,
      `${cursor}.`,
      `${cursor}${cursor}`,
      JSON.stringify(fields),
      write(fields, 1),
      write([...fields, 0]),
      write(fields.slice(0, -1)),
      write(Object.assign({}, fields)),
      write(fields.map(String)),
      write([]),
      write(null),
      write('text'),
      'null',
      '💥',
    ];
    for (const [index] of fields.entries()) {
      for (const value of [null, 0, -1, 1.5, 2, '', 'x', true, [], {}, 1e300, '1', Number.MAX_SAFE_INTEGER]) {
        if (value !== fields[index]) others.push(write(fields.with(index, value)));
      }
    }
    for (const other of others) expectError(await ask(list, other), 'INVALID_QUERY');
  });

  it('is refused when it is long, and soon', async () => {
    const began = performance.now();
    for (const length of [257, 5000, 1_000_000]) {
      expectError(await ask(list, 'A'.repeat(length)), 'INVALID_QUERY');
      expectError(await ask(list, cursor.repeat(Math.ceil(length / cursor.length))), 'INVALID_QUERY');
    }
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it('is refused when it is anything else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.base64String(), fc.json()), async (text) => {
        expectError(await ask(list, text), 'INVALID_QUERY');
        const post = LISTS.find(({ name }) => name === 'POST /reconcile')!;
        expectError(await ask(post, text), 'INVALID_QUERY');
      }),
      { numRuns: 200 },
    );
  });

  it.each([1, true, {}, [], null])('is refused as %j in a body', async (given) => {
    for (const each of LISTS.flatMap(({ json }) => json?.() ?? [])) {
      expectError(await plane.ask(each.route, { json: { ...each.json, cursor: given } }), 'INVALID_QUERY');
    }
    const json = { messageId: messageIds[0], cursor: given };
    expectError(await plane.ask('POST /replay', { json }), 'INVALID_QUERY');
  });

  it('goes on for a caller bound to another tenant with rows of that tenant alone', async () => {
    const unbound = await plane.ask(`GET /messages?limit=1`);
    const bound = await plane.ask(`GET /messages?cursor=${unbound.body.nextCursor}`, { as: 'a' });
    expect(bound.status).toBe(200);
    const tenants = (bound.body.messages as { tenantId: string }[]).map(({ tenantId }) => tenantId);
    expect(new Set(tenants)).toEqual(new Set(['a']));
  });
});
