import { startSender } from '../support/sender.js';

test('a wrong endpoint is told all that is wrong with it at once', async () => {
  const sender = await startSender({ started: false, allowHttp: false });
  const input = { url: 'http://10.0.0.1/', secret: 'whsec_short', types: [], filterFn: 1 };
  await expect(sender.endpoints.create(input as never)).rejects.toMatchObject({
    code: 'ENDPOINT_VALIDATION',
    issues: [{ path: 'types' }, { path: 'filterFn' }, { path: 'url' }, { path: 'secret' }],
  });
  const { id } = await sender.endpoints.create({ url: 'https://example.com/' });
  await expect(sender.endpoints.update(id, { url: 'ftp://example.com/', types: [] })).rejects.toMatchObject({
    issues: [{ path: 'types' }, { path: 'url' }],
  });
});

test('a text that not every database could keep is refused', async () => {
  const sender = await startSender({ started: false });
  const endpoint = { url: 'https://example.com/', description: 'a\0b' };
  await expect(sender.endpoints.create(endpoint)).rejects.toMatchObject({
    issues: [{ path: 'description' }],
  });
  const message = { type: 'a', data: 1, idempotencyKey: 'a\0b' };
  await expect(sender.send(message)).rejects.toMatchObject({ issues: [{ path: 'idempotencyKey' }] });
});

const clause = { dataPath: 'a', equals: 1 };

test.each([
  [{}, 'url', 'is required'],
  [{ url: 7 }, 'url', 'must be a string'],
  [{ url: '' }, 'url', 'must not be empty'],
  [{ description: 'a'.repeat(1001) }, 'description', 'must have at most 1000 characters'],
  [{ types: 'a' }, 'types', 'must be a list'],
  [{ types: Array(257).fill('a') }, 'types', 'must have at most 256 entries'],
  [{ filter: 'a' }, 'filter', 'must be a clause, or a list of clauses'],
  [{ filter: Array(33).fill(clause) }, 'filter', 'must have at most 32 entries'],
  [{ filter: [clause, { ...clause, dataPath: 7 }] }, 'filter.1.dataPath', 'must be a string'],
  [{ filter: { ...clause, extra: 1 } }, 'filter.extra', 'is not a known field'],
  [{ retry: 5 }, 'retry', 'must be an object'],
  [{ retry: { delaysSeconds: [-1] } }, 'retry.delaysSeconds.0', 'must be at least 0'],
  [{ rateLimit: { perSecond: 0 } }, 'rateLimit.perSecond', 'must be more than 0'],
  [{ rateLimit: { perSecond: Number.POSITIVE_INFINITY } }, 'rateLimit.perSecond', 'must be a finite number'],
  [{ maxInFlight: 1.5 }, 'maxInFlight', 'must be a whole number'],
  [{ timeoutMs: 60_001 }, 'timeoutMs', 'must be at most 60000'],
])('%j is told so in words', async (fields, path, message) => {
  const sender = await startSender({ started: false });
  const input = { ...('url' in fields || path === 'url' ? {} : { url: 'https://example.com/' }), ...fields };
  await expect(sender.endpoints.create(input as never)).rejects.toMatchObject({
    issues: [{ path, message }],
  });
});

test('a wrong range is told by what was asked for', async () => {
  const sender = await startSender({ started: false });
  const range = { endpointId: 'ep_1', since: 'yesterday' };
  await expect(sender.replay(range)).rejects.toThrow(/^The replay is not valid: since: must be an RFC 3339/);
  await expect(sender.reconcile(range)).rejects.toThrow(
    /^The reconcile request is not valid: since: must be/,
  );
  await expect(sender.replay({ ...range, status: 'open' as never })).rejects.toThrow(
    /status: must be one of pending, delivered, failed, canceled$/,
  );
});
