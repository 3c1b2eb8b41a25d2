import { Queue, Worker } from 'bullmq';
import { createPoster } from '../delivery/webhook.mjs';

export async function open({ endpoints, concurrency, delivered, redisPort }) {
  const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null };
  const poster = createPoster(concurrency);
  const queue = new Queue('deliver', { connection });
  // What a handler returns is kept with its job: the record of the attempt.
  const worker = new Worker(
    'deliver',
    ({ id, data: { data, endpoint } }) => poster.post({ id: `msg_${id}`, url: endpoints[endpoint], data }),
    { connection, concurrency },
  );
  worker.on('completed', () => delivered());
  worker.on('failed', (_job, error) => console.error(error));
  worker.on('error', console.error);
  await worker.waitUntilReady();
  return {
    sendMany: (payloads) =>
      payloads.length === 1
        ? queue.add('deliver', payloads[0])
        : queue.addBulk(payloads.map((data) => ({ name: 'deliver', data }))),
    async close() {
      await worker.close();
      await queue.close();
      await poster.close();
    },
  };
}
