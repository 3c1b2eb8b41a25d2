// A table of attempts beside a queue in PostgreSQL, which keeps none of its own that say what a receiver answered.
export async function createAttempts(pool) {
  await pool.query(`create table if not exists attempts (
    id bigserial primary key, job_id text not null, url text not null, status integer not null, answer text,
    duration_ms real not null, at timestamptz not null default now())`);
  return {
    record: (rows) =>
      pool.query(
        `insert into attempts (job_id, url, status, answer, duration_ms)
         select * from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::real[])`,
        ['id', 'url', 'status', 'answer', 'durationMs'].map((name) => rows.map((row) => row[name])),
      ),
  };
}
