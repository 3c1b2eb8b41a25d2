import fc from 'fast-check';
import { openPlane, type Plane, START } from './plane.js';

const URL = 'https://example.com/hook';
const RANGE = { since: '2026-01-01', until: '2026-02-01' };

let plane: Plane;
/** The tenant of the run; one that no run before had. */
let tenantId: string;
let runs = 0;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
});

async function begin(): Promise<void> {
  runs += 1;
  tenantId = `run ${runs}`;
  plane.clock.advance(START - plane.clock.now());
}

async function makeEndpoint(fields: { types?: string[] } = {}): Promise<string> {
  return (await plane.sender.endpoints.create({ url: URL, tenantId, ...fields })).id;
}

async function send(type: string, data: unknown): Promise<string> {
  return (await plane.sender.send({ type, data, tenantId })).id;
}

interface Page {
  replayed: number;
  messageIds: string[];
  nextCursor: string | null;
}

/** Asks for one page after the other. */
async function* walk(route: string, body: object, limits: number[]): AsyncGenerator<Page> {
  let cursor: string | null = null;
  for (let page = 0; ; page += 1) {
    const json = { ...body, limit: limits[page % limits.length], ...(cursor !== null && { cursor }) };
    const answer = await plane.ask(route, { as: tenantId, json });
    expect(answer.status).toBe(200);
    yield answer.body as unknown as Page;
    cursor = answer.body.nextCursor;
    if (cursor === null) return;
    expect(page).toBeLessThan(100);
  }
}

/** What was made due again, of a message or of an endpoint. */
async function replayed(
  column: 'message_id' | 'endpoint_id',
  of: 'message_id' | 'endpoint_id',
  id: string,
): Promise<string[]> {
  const text = `select ${column} as id from hookplane_deliveries where ${of} = ? and "trigger" = 'replay' order by 1`;
  return (await plane.query(text, id)).map((row) => String(row.id));
}

it('§4.1 a walk through POST /replay makes each message due again exactly once, oldest first', async () => {
  const times = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 });
  const limits = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(times, limits, async (offsets, sizes) => {
      await begin();
      const endpointId = await makeEndpoint();
      const sent: string[] = [];
      // Few times and many messages: most share their millisecond with others.
      for (const offset of offsets.sort()) {
        plane.clock.advance(START + offset - plane.clock.now());
        sent.push(await send('a', sent.length));
      }
      let count = 0;
      for await (const page of walk('POST /replay', { endpointId, ...RANGE }, sizes)) {
        count += page.replayed;
        expect(await replayed('message_id', 'endpoint_id', endpointId)).toEqual(sent.slice(0, count).sort());
      }
      expect(count).toBe(sent.length);
    }),
    { numRuns: 25 },
  );
});

it('§4.1 a walk through POST /replay of one message takes a page of its endpoints at a time', async () => {
  await begin();
  const endpointIds: string[] = [];
  for (let n = 0; n < 7; n += 1) endpointIds.push(await makeEndpoint());
  const messageId = await send('a', 1);
  const [paused] = endpointIds.splice(2, 1);
  await plane.sender.endpoints.disable(paused!);
  endpointIds.sort();
  for (const dryRun of [true, false]) {
    const counts: number[] = [];
    for await (const page of walk('POST /replay', { messageId, dryRun }, [4])) {
      counts.push(page.replayed);
      const done = counts.reduce((sum, count) => sum + count, 0);
      const expected = dryRun ? [] : endpointIds.slice(0, done);
      expect(await replayed('endpoint_id', 'message_id', messageId)).toEqual(expected);
    }
    expect(counts).toEqual([4, 2]);
  }
});

it('§4.1 a walk through POST /reconcile passes over what is delivered or does not match', async () => {
  await begin();
  const endpointId = await makeEndpoint({ types: ['a.*'] });
  const wanted: string[] = [];
  for (let n = 0; n < 60; n += 1) {
    const id = await send(n % 3 === 0 ? 'a.b' : 'c', n);
    if (n % 3 === 0) wanted.push(id);
  }
  const delivered = wanted.filter((_, index) => index % 2 === 0);
  for (const id of delivered) {
    await plane.query(
      "update hookplane_deliveries set status = 'delivered', delivered_at = 1 where message_id = ?",
      id,
    );
  }
  const found: string[] = [];
  for await (const page of walk('POST /reconcile', { endpointId, ...RANGE }, [3]))
    found.push(...page.messageIds);
  expect(found.sort()).toEqual(wanted.filter((id) => !delivered.includes(id)).sort());
});
