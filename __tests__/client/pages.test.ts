import { type AdminClient, createAdminClient } from '../../lib/client/index.js';
import { plantAttempt, plantTenant } from '../admin/planted.js';
import { BASE_URL, connect, rejection, scripted } from './connected.js';

async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

const ids = (rows: { id: string }[]) => rows.map(({ id }) => id);

describe('a list as a whole', () => {
  it('gives every endpoint, message, tenant and attempt once, page by page', async () => {
    const { client, plane, asked } = await connect();
    const { sender } = plane;
    for (let index = 0; index < 5; index++) {
      plane.clock.advance(1);
      await plantTenant(plane, `tenant-${index}`, `mark-${index}`);
    }
    const [endpoint] = (await sender.endpoints.list()).endpoints;
    const [message] = (await sender.messages.list()).messages;
    for (let number = 3; number <= 5; number++)
      await plantAttempt(plane, { messageId: message!.id, endpointId: endpoint!.id, number });

    const limit = { limit: 2 };
    expect(await collect(client.endpoints.listAll(limit))).toEqual((await sender.endpoints.list()).endpoints);
    expect(await collect(client.messages.listAll(limit))).toEqual((await sender.messages.list()).messages);
    expect(await collect(client.tenants.listAll(limit))).toEqual((await sender.tenants.list()).tenants);
    expect(ids(await collect(client.messages.attemptsAll(message!.id, limit)))).toEqual(
      ids((await sender.messages.attempts(message!.id)).attempts),
    );
    expect(ids(await collect(client.endpoints.attemptsAll(endpoint!.id, limit)))).toEqual(
      ids((await sender.endpoints.attempts(endpoint!.id)).attempts),
    );
    expect(asked).toHaveLength(15);
  });

  it('gives every record of the audit once', async () => {
    const { client, plane } = await connect();
    for (let index = 0; index < 3; index++) await client.endpoints.create({ url: 'https://example.com/' });
    const entries = await collect(client.audit.listAll({ operation: 'endpoints.create', limit: 1 }));
    expect(entries).toHaveLength(3);
    expect(entries).toEqual((await plane.sender.audit.list()).entries);
  });

  it('keeps its filters from page to page', async () => {
    const { client, plane } = await connect();
    for (let index = 0; index < 6; index++)
      await plane.sender.send({ type: index % 2 ? 'odd' : 'even', data: index });
    const odd = await collect(client.messages.listAll({ types: ['odd'], limit: 1 }));
    expect(odd.map(({ type }) => type)).toEqual(['odd', 'odd', 'odd']);
  });

  it('asks for no page before it is wanted, and for none after it was left', async () => {
    const { client, plane, asked } = await connect();
    for (let index = 0; index < 5; index++) await plane.sender.send({ type: 'a', data: index });
    const rows = client.messages.listAll({ limit: 2 });
    expect(asked).toEqual([]);
    let seen = 0;
    for await (const _ of rows) {
      seen += 1;
      expect(asked).toHaveLength(seen < 3 ? 1 : 2);
      if (seen === 3) break;
    }
    expect(asked).toHaveLength(2);
  });

  it('goes on from a cursor', async () => {
    const { client, plane } = await connect();
    for (let index = 0; index < 3; index++) await plane.sender.send({ type: 'a', data: index });
    const { messages, nextCursor } = await client.messages.list({ limit: 1 });
    const rest = await collect(client.messages.listAll({ cursor: nextCursor! }));
    expect(ids([...messages, ...rest])).toEqual(ids((await client.messages.list()).messages));
  });

  it('is of nothing when nothing is there', async () => {
    const { client } = await connect();
    expect(await collect(client.endpoints.listAll())).toEqual([]);
  });

  it('ends with the error of the page that failed', async () => {
    const { client } = await connect();
    const rows = client.messages.attemptsAll('msg_none');
    expect(await rejection(collect(rows))).toMatchObject({ code: 'MESSAGE_NOT_FOUND', status: 404 });
  });

  it('ends when its signal is aborted', async () => {
    const { client, plane, asked } = await connect();
    for (let index = 0; index < 4; index++) await plane.sender.send({ type: 'a', data: index });
    const controller = new AbortController();
    const walk = async () => {
      for await (const _ of client.messages.listAll({ limit: 1 }, { signal: controller.signal })) {
        controller.abort(new Error('enough'));
      }
    };
    expect(await rejection(walk())).toMatchObject({ message: 'enough' });
    expect(asked).toHaveLength(1);
  });
});

describe('replay and reconcile as a whole', () => {
  async function connectWithUndelivered(count: number) {
    const connected = await connect();
    const { sender, clock } = connected.plane;
    const endpoint = await sender.endpoints.create({ url: 'https://example.com/' });
    const sent: string[] = [];
    for (let index = 0; index < count; index++) {
      clock.advance(1);
      sent.push((await sender.send({ type: 'a', data: index })).id);
    }
    const range = { endpointId: endpoint.id, since: '2026-01-01', limit: 2 };
    return { ...connected, range, sent };
  }

  it('tells of each page what it came to, and of all so far', async () => {
    const { client, range, sent } = await connectWithUndelivered(5);
    const replayed = await collect(client.replayAll({ ...range, dryRun: true }));
    expect(replayed.map((page) => [page.replayed, page.total, page.nextCursor === null])).toEqual([
      [2, 2, false],
      [2, 4, false],
      [1, 5, true],
    ]);
    const reconciled = await collect(client.reconcileAll(range));
    expect(reconciled.map((page) => [page.messageIds, page.total])).toEqual([
      [sent.slice(0, 2), 2],
      [sent.slice(2, 4), 4],
      [sent.slice(4), 5],
    ]);
  });

  it('replays no page that was not asked for, and is taken up where it was left', async () => {
    const { client, plane, range, asked } = await connectWithUndelivered(5);
    const triggers = async () => {
      const rows = await plane.query('select "trigger" from hookplane_deliveries order by message_id');
      return rows.map(({ trigger }) => trigger);
    };
    let cursor: string | null = null;
    for await (const page of client.replayAll(range)) {
      cursor = page.nextCursor;
      break;
    }
    expect(asked).toHaveLength(1);
    expect(await triggers()).toEqual(['replay', 'replay', 'send', 'send', 'send']);
    const rest = await collect(client.replayAll({ ...range, cursor: cursor! }));
    expect(rest.map(({ total }) => total)).toEqual([2, 3]);
    expect(await triggers()).toEqual(Array(5).fill('replay'));
  });
});

describe('what is no page', () => {
  const walks = {
    'endpoints.listAll': ['endpoints', (client) => client.endpoints.listAll()],
    'endpoints.attemptsAll': ['attempts', (client) => client.endpoints.attemptsAll('ep_1')],
    'messages.listAll': ['messages', (client) => client.messages.listAll()],
    'messages.attemptsAll': ['attempts', (client) => client.messages.attemptsAll('msg_1')],
    'tenants.listAll': ['tenants', (client) => client.tenants.listAll()],
    'audit.listAll': ['entries', (client) => client.audit.listAll()],
    replayAll: ['replayed', (client) => client.replayAll({ messageId: 'msg_1' })],
    reconcileAll: [
      'messageIds',
      (client) => client.reconcileAll({ endpointId: 'ep_1', since: '2026-01-01' }),
    ],
  } satisfies Record<string, [string, (client: AdminClient) => AsyncIterable<unknown>]>;

  /** Answers these and no more: a walk that goes on fails. */
  function answered(...answers: object[]) {
    const end = () => Promise.reject(new Error('asked too often'));
    const { fetch, urls } = scripted(...answers.map((answer) => () => Response.json(answer)), end);
    return { urls, client: createAdminClient({ baseUrl: BASE_URL, fetch, retries: 0 }) };
  }

  it.each(Object.entries(walks))(
    'ends %s with an error, and is not asked for again',
    async (_, [field, walk]) => {
      const content = field === 'replayed' ? 1 : [];
      const answers = [
        { status: 'ok' },
        { [field]: content },
        { [field]: content, nextCursor: 7 },
        { nextCursor: null },
        { [field]: { length: 1 }, nextCursor: null },
        { [field]: field === 'replayed' ? [] : 1, nextCursor: null },
      ];
      for (const answer of answers) {
        const { client, urls } = answered(answer);
        const pages: AsyncIterable<unknown> = walk(client);
        expect(await rejection(collect(pages))).toMatchObject({
          name: 'AdminClientError',
          code: 'UNEXPECTED_ANSWER',
          status: 200,
          message: expect.stringContaining(JSON.stringify(JSON.stringify(answer))),
        });
        expect(urls).toHaveLength(1);
      }
    },
  );

  it('is shown in part when it is long', async () => {
    const { client } = answered({ endpoints: Array(1000).fill('ep') });
    const { message } = (await rejection(collect(client.endpoints.listAll()))) as Error;
    expect(message.length).toBeLessThan(500);
  });

  it.each(Object.entries(walks))('ends %s when a cursor comes back', async (_, [field, walk]) => {
    const content = field === 'replayed' ? 1 : ['x'];
    for (const cursors of [
      ['a', 'a'],
      ['a', 'b', 'a'],
    ]) {
      const { client, urls } = answered(...cursors.map((nextCursor) => ({ [field]: content, nextCursor })));
      let handedOut = 0;
      const count = async () => {
        for await (const _ of walk(client)) handedOut += 1;
      };
      expect(await rejection(count())).toMatchObject({
        name: 'AdminClientError',
        code: 'UNEXPECTED_ANSWER',
        message: expect.stringContaining('"a"'),
      });
      // What comes with it is likely what has come before.
      expect([urls.length, handedOut]).toEqual([cursors.length, cursors.length - 1]);
    }
  });

  it('ends a walk when the cursor that it was taken up by comes back', async () => {
    const { client, urls } = answered({ replayed: 1, nextCursor: 'a' });
    const walk = client.replayAll({ messageId: 'msg_1', cursor: 'a' });
    expect(await rejection(collect(walk))).toMatchObject({ code: 'UNEXPECTED_ANSWER' });
    expect(urls).toHaveLength(1);
  });
});
