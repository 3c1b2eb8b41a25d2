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
