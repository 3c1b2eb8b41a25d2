import { randomBytes } from 'node:crypto';
import type { EndpointWithSecret, SentMessage } from '../../lib/index.js';
import { sqliteStore } from '../../lib/index.js';
import { DEFAULT_RETRY } from '../../lib/sender/delivery/retry.js';
import { resolveOptions } from '../../lib/sender/options.js';
import { startSender } from '../support/sender.js';
import { waitFor } from '../support/wait-for.js';
import { readPage, tableRows } from './page.js';
import { type Check, pageContract } from './page-contract.js';
import { SHOP_TYPES, shopCheck } from './shop.js';

const WEBHOOK_SECRET = `whsec_${randomBytes(32).toString('base64')}`;

const page = readPage('docs/delivery.md');

describe('docs/delivery.md', () => {
  beforeAll(() => Object.assign(process.env, { WEBHOOK_SECRET }));

  pageContract(page, { checks: checks(), declared: SHOP_TYPES });

  it('lists every option of createSender, with its default where that is a value', () => {
    const listed = Object.fromEntries(tableRows(page, 'option of createSender'));
    const resolved = resolveOptions({ store: sqliteStore({ file: ':memory:' }) });
    expect(Object.keys(listed)).toEqual(Object.keys(resolved));
    for (const [name, value] of Object.entries(resolved)) {
      if (typeof value === 'number' || typeof value === 'boolean')
        expect([name, listed[name]]).toEqual([name, String(value)]);
    }
  });

  it('tells the schedule of retries as it is', () => {
    const [, schedule] = /\*\*Retries\*\*: the first attempt at once, then after ([^,]+,.*?), each ±/.exec(
      page.text,
    )!;
    const units: Record<string, number> = { s: 1, min: 60, h: 3600 };
    const told = [...schedule!.matchAll(/(\d+) (s|min|h)\b/g)].map(
      ([, count, unit]) => Number(count) * units[unit!]!,
    );
    expect({ delaysSeconds: told, jitter: 0.1 }).toEqual(DEFAULT_RETRY);
  });
});

function checks(): Check[] {
  return [
    {
      mark: "idempotencyKey: 'inv_1-paid'",
      async run({ values: { endpoint, message }, sender }) {
        const { id, secret } = endpoint as EndpointWithSecret;
        expect(secret).toMatch(/^whsec_/);
        const sent = message as SentMessage;
        expect(sent).toMatchObject({ status: 'pending', duplicate: false });
        const { deliveries, payload } = await sender.messages.get(sent.id);
        expect(deliveries).toMatchObject([{ endpointId: id }]);
        const again = {
          tenantId: 'acme',
          type: sent.type,
          data: payload!.data,
          idempotencyKey: sent.idempotencyKey,
        };
        expect(await sender.send(again)).toMatchObject({ id: sent.id, duplicate: true });
      },
    },
    shopCheck('pool.connect()', 'PostgreSQL'),
    shopCheck('sendSync', 'SQLite'),
    {
      mark: 'endpointHooks',
      async run({ sender }) {
        await sender.endpoints.create({ url: 'https://example.com/', metadata: { format: 'chat' } });
        expect(await sender.send({ type: 'a', data: { total: 999 } })).toMatchObject({ status: 'unrouted' });
        expect(await sender.send({ type: 'a', data: { total: 1000 } })).toMatchObject({ status: 'pending' });
      },
    },
    { mark: '// receiver.mjs', run: ({ urls: [url] }) => checkReceiver(url!) },
    { mark: "from 'standardwebhooks'", run: ({ urls: [url] }) => checkReceiver(url!) },
    {
      mark: 'allowTargets',
      async run({ sender }) {
        for (const url of ['http://10.20.1.2/', 'http://127.0.0.1/', 'https://hooks.example.internal/'])
          expect((await sender.endpoints.create({ url })).url).toBe(url);
        for (const url of ['http://10.21.1.2/', 'http://127.0.0.2/', 'https://169.254.169.254/'])
          await expect(sender.endpoints.create({ url })).rejects.toMatchObject({
            code: 'ENDPOINT_VALIDATION',
          });
      },
    },
  ];
}

/** A receiver takes what a sender delivers to it, and refuses what is signed by another secret. */
async function checkReceiver(url: string): Promise<void> {
  const sender = await startSender();
  const settings = { url: `${url}/webhooks`, retry: { delaysSeconds: [] } };
  const { id } = await sender.endpoints.create({ ...settings, secret: WEBHOOK_SECRET });
  const { id: foreign } = await sender.endpoints.create(settings);
  const { id: messageId } = await sender.send({ type: 'user.created', data: { name: 'Zoë' } });
  const attempts = await waitFor(async () => {
    const { attempts } = await sender.messages.attempts(messageId);
    return attempts.length === 2 && attempts;
  });
  expect(attempts).toContainEqual(
    expect.objectContaining({
      endpointId: id,
      responseStatus: 200,
      responseBody: expect.stringMatching(/"received":"(msg_|user.created")/),
    }),
  );
  expect(attempts).toContainEqual(expect.objectContaining({ endpointId: foreign, responseStatus: 401 }));
}
