import pg from 'pg';
import PgBoss from 'pg-boss';
import { createPoster } from '../delivery/webhook.mjs';
import { createAttempts } from './attempts.mjs';

// It fetches no sooner than half a second after the last fetch, however much there is.
const BATCH = 1000;
const POLLING_SECONDS = 0.5;

export async function open({ endpoints, concurrency, delivered, postgresUrl }) {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 10 });
  const poster = createPoster(concurrency);
  const attempts = await createAttempts(pool);
  const boss = new PgBoss({ connectionString: postgresUrl, max: 10 });
  boss.on('error', console.error);
  await boss.start();
  await boss.createQueue('deliver');
  await boss.work('deliver', { batchSize: BATCH, pollingIntervalSeconds: POLLING_SECONDS }, async (jobs) => {
    const rows = await Promise.all(
      jobs.map(async ({ id, data: { data, endpoint } }) => {
        const url = endpoints[endpoint];
        return { id, url, ...(await poster.post({ id: `msg_${id}`, url, data })) };
      }),
    );
    await attempts.record(rows);
    delivered(rows.length);
  });
  return {
    sendMany: (payloads) =>
      payloads.length === 1
        ? boss.send('deliver', payloads[0])
        : boss.insert(payloads.map((data) => ({ name: 'deliver', data }))),
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
      await poster.close();
    },
  };
}
