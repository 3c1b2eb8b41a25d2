import * as hookplane from '../../lib/index.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { untilStatus } from './probe.js';

const mockLoaded: string[] = [];
for (const name of ['prom-client', '@opentelemetry/api']) {
  jest.doMock(name, () => {
    mockLoaded.push(name);
    return jest.requireActual(name);
  });
}

test('who sends without tracing and without metrics loads neither OpenTelemetry nor prom-client', async () => {
  const receiver = await startReceiver();
  const sender = await startSender();
  expect(hookplane.createSender).toBeInstanceOf(Function);
  await sender.endpoints.create({ url: receiver.url() });
  const sent = await sender.send({ type: 'a.b', data: 1 });
  await untilStatus(sender, sent.id, 'delivered');
  expect(mockLoaded).toEqual([]);
  await sender.metrics();
  expect(mockLoaded).toContain('prom-client');
});
