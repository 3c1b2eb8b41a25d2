import type { Endpoint, EndpointCreate, EndpointUpdate, Filter, Issue } from '../../client/index.js';
import { type Pair, pair } from './components/pairs-input.js';
import { numberIssues } from './components/field.js';
import { t } from './texts.js';

/** An endpoint as it is typed: texts, of which some are numbers and JSON once they are sent. */
export interface Draft {
  url: string;
  description: string;
  tenantId: string;
  types: string[];
  channels: string[];
  clauses: Pair[];
  headers: Pair[];
  metadata: string;
  delays: string;
  jitter: string;
  perSecond: string;
  burst: string;
  maxInFlight: string;
  timeoutMs: string;
  secret: string;
}

const textOf = (value: number | null | undefined) =>
  value === null || value === undefined ? '' : String(value);

export function draftOf(endpoint: Endpoint | null): Draft {
  const filter = endpoint?.filter ?? [];
  const metadata = endpoint?.metadata ?? {};
  return {
    url: endpoint?.url ?? '',
    description: endpoint?.description ?? '',
    tenantId: endpoint?.tenantId ?? '',
    types: [...(endpoint?.types ?? [])],
    channels: [...(endpoint?.channels ?? [])],
    clauses: (Array.isArray(filter) ? filter : [filter]).map(({ dataPath, equals }) =>
      pair(dataPath, writeValue(equals)),
    ),
    headers: Object.entries(endpoint?.headers ?? {}).map(([name, value]) => pair(name, value)),
    metadata: Object.keys(metadata).length > 0 ? JSON.stringify(metadata, null, 2) : '',
    delays: endpoint?.retry ? endpoint.retry.delaysSeconds.join(', ') || t.noDelays : '',
    jitter: textOf(endpoint?.retry?.jitter),
    perSecond: textOf(endpoint?.rateLimit?.perSecond),
    burst: textOf(endpoint?.rateLimit?.burst),
    maxInFlight: textOf(endpoint?.maxInFlight),
    timeoutMs: textOf(endpoint?.timeoutMs),
    secret: '',
  };
}

/** What is typed as the value of a clause: JSON where it is some, a text otherwise. */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The shortest text that is read as this value again. */
function writeValue(value: unknown): string {
  const json = JSON.stringify(value) ?? '';
  return typeof value === 'string' && value !== '' && readValue(value) === value ? value : json;
}

export function filterOf(clauses: readonly Pair[]): Filter | null {
  const named = clauses.filter(({ name, value }) => name !== '' || value !== '');
  return named.length === 0
    ? null
    : named.map(({ name, value }) => ({ dataPath: name.trim(), equals: readValue(value) }));
}

/** What is to be sent; `issues` are those that the control plane could not see, because JSON cannot say them. */
export function readDraft(draft: Draft): { input: EndpointCreate; issues: Issue[] } {
  const issues: Issue[] = [];
  const number = (path: string, text: string): number | null => {
    issues.push(...numberIssues(path, text));
    return text.trim() === '' ? null : Number(text);
  };
  const perSecond = number('rateLimit.perSecond', draft.perSecond);
  const burst = number('rateLimit.burst', draft.burst);
  if (perSecond === null && burst !== null) issues.push({ path: 'rateLimit.perSecond', message: t.required });
  const jitter = number('retry.jitter', draft.jitter);
  const never = draft.delays.trim().toLowerCase() === t.noDelays;
  const delays = never ? [] : draft.delays.split(/[\s,]+/).filter(Boolean);
  if (delays.some((delay) => !Number.isFinite(Number(delay)))) {
    issues.push({ path: 'retry.delaysSeconds', message: t.notNumbers });
  } else if (delays.length === 0 && !never && jitter !== null) {
    issues.push({ path: 'retry.delaysSeconds', message: t.required });
  }
  let metadata: unknown = null;
  try {
    metadata = draft.metadata.trim() === '' ? null : JSON.parse(draft.metadata);
  } catch {
    issues.push({ path: 'metadata', message: t.notJson });
  }
  const headers = draft.headers.filter(({ name, value }) => name !== '' || value !== '');
  for (const [index, { name }] of headers.entries()) {
    if (headers.findIndex((other) => other.name === name) !== index) {
      issues.push({ path: `headers.${name}`, message: t.givenTwice });
    }
  }
  const input = {
    url: draft.url.trim(),
    description: draft.description === '' ? null : draft.description,
    types: draft.types.length > 0 ? draft.types : null,
    channels: draft.channels.length > 0 ? draft.channels : null,
    filter: filterOf(draft.clauses),
    headers: headers.length > 0 ? Object.fromEntries(headers.map(({ name, value }) => [name, value])) : null,
    metadata: metadata as Record<string, unknown> | null,
    retry:
      delays.length > 0 || never
        ? { delaysSeconds: delays.map(Number), ...(jitter !== null && { jitter }) }
        : null,
    rateLimit: perSecond === null ? null : { perSecond, ...(burst !== null && { burst }) },
    maxInFlight: number('maxInFlight', draft.maxInFlight),
    timeoutMs: number('timeoutMs', draft.timeoutMs),
  };
  return { input, issues };
}

/** The fields of a create: what was left empty is left out. */
export function createOf(draft: Draft, input: EndpointCreate, isOperator: boolean): EndpointCreate {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
  return {
    ...(given as EndpointCreate),
    ...(isOperator && draft.tenantId !== '' && { tenantId: draft.tenantId }),
    ...(draft.secret !== '' && { secret: draft.secret }),
  };
}

/** The fields of an update: only those that differ, so that the record of changes names no others. */
export function updateOf(before: Endpoint, input: EndpointCreate): EndpointUpdate {
  const known = readDraft(draftOf(before)).input as Record<string, unknown>;
  const changed = Object.entries(input).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(known[name]),
  );
  return Object.fromEntries(changed) as EndpointUpdate;
}
