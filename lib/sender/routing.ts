import { within } from '../model/deadline.js';
import type { Endpoint } from '../model/endpoint.js';
import { HookplaneError } from '../model/errors.js';
import { matchesFilter } from '../model/filter.js';
import { isoTime } from '../model/time.js';
import { matchesChannels, matchesTypes } from '../model/types.js';
import type { NewMessage } from '../store/store.js';
import type { ResolvedOptions } from './options.js';

/** A message that is ready to be stored, but for whom it is owed to. */
export interface Outgoing extends Omit<NewMessage, 'owedTo' | 'fingerprint'> {
  /** The serialized `data`, which the filters are asked about. */
  data: string;
}

/** Finds those endpoints of a message's tenant that match. */
export function matcher(
  endpoints: ReadonlyMap<string | null, readonly Endpoint[]>,
): (message: Outgoing) => Endpoint[] {
  return (message) => matching(endpoints.get(message.tenantId) ?? [], message);
}

/** Those endpoints of the message's tenant whose own filters match. */
export function matching(endpoints: readonly Endpoint[], { type, channels, data }: Outgoing): Endpoint[] {
  let parsed: { data: unknown } | undefined;
  return wantingType(endpoints, type).filter((endpoint) => {
    if (!matchesChannels(endpoint.channels, channels)) return false;
    if (endpoint.filter === null) return true;
    parsed ??= { data: JSON.parse(data) };
    return matchesFilter(endpoint.filter, parsed.data);
  });
}

/** Of a tenant's endpoints, those that name types by type, and those with patterns. */
interface ByType {
  exact: Map<string, Endpoint[]>;
  others: Endpoint[];
}

const known = new WeakMap<readonly Endpoint[], ByType>();

/** Sorted once: to ask 1 000 endpoints for every message would take as long as to store it. */
function wantingType(endpoints: readonly Endpoint[], type: string): Endpoint[] {
  let sorted = known.get(endpoints);
  if (!sorted) {
    sorted = sortByType(endpoints);
    known.set(endpoints, sorted);
  }
  const others = sorted.others.filter((endpoint) => matchesTypes(endpoint.types, type));
  return [...(sorted.exact.get(type) ?? []), ...others];
}

function sortByType(endpoints: readonly Endpoint[]): ByType {
  const exact = new Map<string, Endpoint[]>();
  const others: Endpoint[] = [];
  for (const endpoint of endpoints) {
    if (endpoint.types?.every((pattern) => !pattern.endsWith('*')) !== true) others.push(endpoint);
    else
      for (const type of new Set(endpoint.types)) {
        const wanting = exact.get(type);
        if (wanting) wanting.push(endpoint);
        else exact.set(type, [endpoint]);
      }
  }
  return { exact, others };
}

/** The endpoints whose `filterFn` agrees, all asked at once. A throw rejects. */
export async function askHooks(
  options: ResolvedOptions,
  message: Outgoing,
  endpoints: readonly Endpoint[],
): Promise<string[]> {
  const answers = endpoints.map(async (endpoint) => {
    const answer = Promise.resolve(askHook(options, message, endpoint));
    const keep = await within(answer, options.timeoutMs, `The filterFn of the endpoint ${endpoint.id}`);
    return keep ? [endpoint.id] : [];
  });
  return (await Promise.all(answers)).flat();
}

/**
 * The same, of hooks that answer at once.
 * @throws HookplaneError `INVALID_OPTIONS` when one answers a promise
 */
export function askHooksSync(
  options: ResolvedOptions,
  message: Outgoing,
  endpoints: readonly Endpoint[],
): string[] {
  const agreeing = endpoints.filter((endpoint) => {
    const answer = askHook(options, message, endpoint);
    if (typeof (answer as Partial<Promise<boolean>> | undefined)?.then !== 'function') return answer;
    // Nobody waits for it, even to fail.
    Promise.resolve(answer).catch(() => {});
    const problem = `The filterFn of the endpoint ${endpoint.id} answers a promise, for which sendSync cannot wait`;
    throw new HookplaneError('INVALID_OPTIONS', problem);
  });
  return agreeing.map(({ id }) => id);
}

function askHook(
  { endpointHooks }: ResolvedOptions,
  { id, tenantId, type, channels, data, createdAt: sentAt }: Outgoing,
  endpoint: Endpoint,
): boolean | Promise<boolean> {
  const { filterFn } = endpointHooks?.(endpoint) ?? {};
  if (!filterFn) return true;
  const createdAt = isoTime(sentAt);
  // A copy of its own: what it does to it must not change what others are asked about.
  const payload = { type, timestamp: createdAt, data: JSON.parse(data) as unknown };
  return filterFn(payload, { id, tenantId, type, channels, createdAt });
}
