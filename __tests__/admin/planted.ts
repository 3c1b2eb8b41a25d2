import { createId } from '../../lib/model/ids.js';
import type { Plane } from './plane.js';

export interface PlantedTenant {
  tenantId: string;
  endpointId: string;
  messageId: string;
  attemptIds: string[];
  secret: string;
}

/**
 * A tenant that has one of everything: a record with a limit, an endpoint with every field set, a message that is owed
 * to it and two attempts, and an entry of the audit log. `mark` is part of every text in them that a caller or a
 * receiver chooses.
 */
export async function plantTenant(plane: Plane, tenantId: string, mark: string): Promise<PlantedTenant> {
  const { sender } = plane;
  await sender.tenants.setRateLimit(tenantId, { perSecond: 5, burst: 7 });
  const caller = { tenantId, actor: { id: mark, name: mark }, requestId: mark };
  const metadata = { note: mark, [mark]: { deep: [mark] } };
  await sender.forCaller(caller).tenants.setMetadata(tenantId, metadata);
  const secret = `whsec_${Buffer.from(mark.padEnd(30, '~')).toString('base64')}`;
  const endpoint = await sender.endpoints.create({
    tenantId,
    secret,
    url: `https://example.com/${mark}`,
    description: mark,
    types: [`${mark}.*`],
    channels: [mark],
    filter: [{ dataPath: mark, equals: mark }],
    headers: { [`x-${mark}`]: mark },
    metadata: { [mark]: mark },
    retry: { delaysSeconds: [1, 2], jitter: 0 },
    rateLimit: { perSecond: 3, burst: 4 },
    maxInFlight: 2,
    timeoutMs: 2000,
  });
  const message = await sender.send({
    tenantId,
    type: `${mark}.created`,
    data: { [mark]: mark },
    channels: [mark],
    idempotencyKey: mark,
  });
  const attemptIds: string[] = [];
  for (const number of [1, 2]) {
    attemptIds.push(
      await plantAttempt(plane, { messageId: message.id, endpointId: endpoint.id, number, mark }),
    );
  }
  const changed = 'update hookplane_deliveries set attempt_count = 2, last_error = ? where message_id = ?';
  await plane.query(changed, mark, message.id);
  return { tenantId, endpointId: endpoint.id, messageId: message.id, attemptIds, secret };
}

export interface PlantedAttempt {
  messageId: string;
  endpointId: string;
  number?: number;
  status?: 'succeeded' | 'failed';
  startedAt?: number;
  mark?: string;
}

/** Writes an attempt as a worker would have, without a receiver. Answers its id. */
export async function plantAttempt(plane: Plane, attempt: PlantedAttempt): Promise<string> {
  const { messageId, endpointId, number = 1, status = 'failed', mark = 'none' } = attempt;
  const startedAt = attempt.startedAt ?? plane.clock.now();
  const id = createId('att', startedAt);
  const row = {
    id,
    message_id: messageId,
    endpoint_id: endpointId,
    number,
    status,
    trigger: number === 1 ? 'send' : 'retry',
    started_at: startedAt,
    duration_ms: 12,
    request_url: `https://example.com/${mark}`,
    remote_address: mark,
    response_status: 500,
    response_headers: JSON.stringify({ [`x-${mark}`]: mark }),
    response_body: mark,
    error_kind: status === 'failed' ? 'http_status' : null,
    error: status === 'failed' ? `The receiver answered 500: ${mark}` : null,
    next_attempt_at: null,
  };
  const columns = Object.keys(row);
  const places = columns.map(() => '?').join(', ');
  const names = columns.map((name) => `"${name}"`).join(', ');
  await plane.query(`insert into hookplane_attempts (${names}) values (${places})`, ...Object.values(row));
  return id;
}

/** Says that a worker is alive, so that health is good without one that delivers. */
export async function plantWorker({ query, clock }: Plane): Promise<void> {
  await query('insert into hookplane_workers (id, heartbeat_at) values (?, ?)', 'wrk_planted', clock.now());
}

/** Says that what a message owes has ended so. */
export async function plantDeliveries(
  { query, clock }: Plane,
  messageId: string,
  status: 'delivered' | 'failed',
): Promise<void> {
  const ended = 'update hookplane_deliveries set status = ?, delivered_at = ? where message_id = ?';
  await query(ended, status, status === 'delivered' ? clock.now() : null, messageId);
  const rolledUp = 'update hookplane_messages set status = ? where id = ?';
  await query(rolledUp, status, messageId);
}
