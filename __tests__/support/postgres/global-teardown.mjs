import pg from 'pg';

/** Stops the server of the test run, or drops the databases of its workers on one that stays. */
export default async function stop() {
  if (globalThis.hookplanePostgres) return globalThis.hookplanePostgres.stop();
  const client = new pg.Client({ connectionString: process.env.HOOKPLANE_TEST_POSTGRES_URL });
  await client.connect();
  const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [
    process.env.HOOKPLANE_TEST_DATABASES,
  ]);
  for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
  await client.end();
}
