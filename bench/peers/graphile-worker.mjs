import { makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { createPoster } from '../delivery/webhook.mjs';
import { createAttempts } from './attempts.mjs';

const QUIET = { scope: () => QUIET, error: console.error, warn() {}, info() {}, debug() {} };

export async function open({ endpoints, concurrency, delivered, postgresUrl }) {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 20 });
  const poster = createPoster(concurrency);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: QUIET });
  await utils.migrate();
  const attempts = await createAttempts(pool);
  const runner = await run({
    pgPool: pool,
    concurrency,
    noHandleSignals: true,
    pollInterval: 1000,
    logger: QUIET,
    taskList: {
      async deliver({ data, endpoint }, { job }) {
        const url = endpoints[endpoint];
        const result = await poster.post({ id: `msg_${job.id}`, url, data });
        await attempts.record([{ id: job.id, url, ...result }]);
        delivered();
      },
    },
  });
  return {
    sendMany: (payloads) =>
      payloads.length === 1
        ? utils.addJob('deliver', payloads[0])
        : pool.query(
            `select 1 from graphile_worker.add_jobs(array(
               select ('deliver', payload, null, null, null, null, null, null)::graphile_worker.job_spec
               from json_array_elements($1::json) as payload))`,
            [JSON.stringify(payloads)],
          ),
    async close() {
      await runner.stop();
      await utils.release();
      await pool.end();
      await poster.close();
    },
  };
}
