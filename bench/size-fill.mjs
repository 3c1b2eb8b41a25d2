// Fills a store in bulk, by SQL that both databases understand, into the tables that the store
// itself has made. What is drawn depends on the number of the message and on the seed alone.
import { randomBytes } from 'node:crypto';

export const BIG = 'tenant_big';
export const MID = 'tenant_mid';
export const RARE_TYPE = 'rare.happened';
export const RARE_ACTOR = 'actor_rare';
/** As many in a store of any size: to find them among all others is what grows. */
const RARE = 40;
/** As many are owed in a store of any size: what grows is the history. */
const OWED = 400;
const TENANTS = 300;
/** Ten thousand in a day: what a day holds is the same in a store of any size. */
const EVERY_MS = 8640;
const CHUNK = 50_000;

/** Digits of a fixed length, so that texts sort as numbers do. */
const digits = (value, length) => `substr(cast(${10 ** length} + ${value} as text), 2)`;

/** The digits of the time of an id, which lists go by. */
const timeDigits = (ms) =>
  Array.from(
    { length: 10 },
    (_, index) =>
      `substr('0123456789abcdefghijklmnopqrstuv', cast((${ms}) / ${32 ** (9 - index)} % 32 + 1 as integer), 1)`,
  ).join(' || ');

/** The endpoint number `k` of the tenant number `t`. */
const endpointId = (t, k) => `'ep_00000000000000000000' || ${digits(`(${t}) * 3 + ${k}`, 6)}`;
export const bigEndpoint = 'ep_00000000000000000000000000';

/**
 * Half of all messages are of one tenant, one in fifty of another, the rest of 300 others. Each has three endpoints. Of
 * four messages one is owed to one endpoint and took four attempts, the others are owed to three and took one for each.
 * @param store an open store, which has made its tables
 * @param run runs a statement
 * @param table names a table
 */
export async function fillStore({ run, table, count, seed = 1, now = Date.now() }) {
  const start = now - count * EVERY_MS;
  const at = `(${start} + i * ${EVERY_MS})`;
  const tenantNumber = `case when i % 2 = 0 then 0 when i % 50 = 1 then 1 else 2 + (i * 7919 + ${seed}) % ${TENANTS} end`;
  const tenantOf = (t) =>
    `case ${t} when 0 then '${BIG}' when 1 then '${MID}' else 'tenant_' || cast(${t} as text) end`;
  const drawn = `(i * 48271 + ${seed} * 7919) % 2147483647 % 1000`;
  const messageId = `'msg_' || ${timeDigits('at')} || ${digits('i', 16)}`;
  const attemptId = `'att_' || ${timeDigits('at + a * 1000')} || ${digits('(i * 16 + k * 4 + a)', 16)}`;
  const lots = Array.from(
    { length: 8 },
    (_, index) => `"field${index}":"${randomBytes(16).toString('hex')}"`,
  ).join();

  const numbers = (from, to) => `with recursive n(i) as (
      select cast(${from} as bigint) union all select i + 1 from n where i < ${to}),
    message as (select n.*, ${at} as at, ${tenantNumber} as t, ${drawn} as h,
      case when i % ${Math.floor(count / RARE)} = 0 then '${RARE_TYPE}' else 'type.' || cast(i / 2 * 31 % 8 as text) end as type
      from n),
    rated as (select message.*, ${messageId} as id, ${tenantOf('t')} as tenant,
      case when i % ${Math.floor(count / OWED)} = 7 or i % ${Math.floor(count / OWED)} = 20 then 'pending' when h < 40 then 'failed' when h < 60 then 'unrouted' else 'delivered' end as status
      from message),
    delivery as (select rated.*, k, ${endpointId('t', 'k')} as endpoint,
      case when k = 0 and status <> 'delivered' then status else 'delivered' end as outcome
      from rated join (select 0 as k union all select 1 union all select 2) as ks on k = 0 or i % 4 <> 0
      where status <> 'unrouted'),
    attempt as (select delivery.*, a, case when i % 4 = 0 then 4 else 1 end as last
      from delivery join (select 1 as a union all select 2 union all select 3 union all select 4) as tries
      on a = 1 or i % 4 = 0)`;
  const insert = async (name, columns, from, select) => {
    for (let first = 0; first < count; first += CHUNK) {
      await run(
        `insert into ${table(name)} (${columns}) ${numbers(first, Math.min(first + CHUNK, count) - 1)} select ${select} from ${from}`,
      );
    }
  };

  const owners = `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${TENANTS + 1})`;
  const kinds = `(select 0 as k union all select 1 union all select 2) as ks`;
  await run(
    `insert into ${table('tenants')} (id, metadata, created_at, updated_at)
      ${owners} select ${tenantOf('i')}, '{}', ${start} + i, ${start} from n`,
  );
  await run(
    `insert into ${table('endpoints')} (id, tenant_id, url, status, headers, metadata, slow_step, revision, created_at, updated_at)
      ${owners} select ${endpointId('i', 'k')}, ${tenantOf('i')}, 'https://receiver.example.com/hooks',
        case when (i * 3 + k) % 50 = 49 then 'paused' else 'active' end, '{}', '{}', 0, 'first', ${start} + i * 3 + k, ${start}
      from n cross join ${kinds}`,
  );
  await run(
    `insert into ${table('endpoint_secrets')} (id, endpoint_id, secret, created_at)
      ${owners} select 'sec_' || cast(i * 3 + k as text), ${endpointId('i', 'k')},
        'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', ${start} from n cross join ${kinds}`,
  );
  await insert(
    'messages',
    'id, tenant_id, type, status, idempotency_key, created_at, expires_at, finished_at',
    'rated',
    `id, tenant, type, status, case when i % 4 = 1 then 'order-' || cast(i as text) end, at, at + 2592000000,
      case when status <> 'pending' then at + 5000 end`,
  );
  await insert(
    'payloads',
    'message_id, payload',
    'rated',
    `id, '{"type":"' || type || '","timestamp":"2026-01-01T00:00:00.000Z","data":{${lots}}}'`,
  );
  await insert(
    'idempotency_keys',
    'tenant_id, key, message_id, fingerprint, created_at',
    'rated where i % 4 = 1',
    `tenant, 'order-' || cast(i as text), id, 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr', at`,
  );
  await insert(
    'deliveries',
    'message_id, endpoint_id, status, "trigger", attempt_count, schedule_step, due_at, expires_at, fence, delivered_at',
    'delivery',
    `id, endpoint, outcome, 'retry', case when i % 4 = 0 then 4 else 1 end, 0, at, ${now + 2_592_000_000}, 1,
      case when outcome = 'delivered' then at + 5000 end`,
  );
  await insert(
    'attempts',
    'id, message_id, endpoint_id, number, status, "trigger", started_at, duration_ms, request_url, remote_address, response_status, response_headers, response_body, error_kind, error',
    'attempt',
    `${attemptId}, id, endpoint, a, case when a = last and outcome = 'delivered' then 'succeeded' else 'failed' end,
      case a when 1 then 'send' else 'retry' end, at + a * 1000, 20 + (i + a) % 300, 'https://receiver.example.com/hooks',
      '192.0.2.1', 200, '{"content-type":"application/json","date":"Thu, 01 Jan 2026 00:00:00 GMT","connection":"keep-alive"}',
      '{"ok":true}', case when a < last then 'http_status' end, case when a < last then 'The receiver answered 500.' end`,
  );
  await insert(
    'audit_log',
    'at, id, tenant_id, operation, target_id, changes, actor_id',
    'rated where i % 10 < 1',
    `at, 'aud_' || substr(id, 5), tenant, case when i / 10 % 5 = 0 then 'endpoints.update' else 'send' end,
      case when i / 10 % 5 = 0 then ${endpointId('t', '0')} else id end, '["data"]',
      case when i % ${Math.floor(count / RARE / 10) * 10} = 0 then '${RARE_ACTOR}' else 'actor_' || cast(i / 10 % 7 as text) end`,
  );
  return { start, middle: start + Math.floor(count / 2) * EVERY_MS, end: now };
}
