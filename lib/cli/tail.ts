import type { AuditEntry } from '../model/audit.js';
import { isHookplaneError } from '../model/errors.js';
import type { Attempt, AttemptStatus } from '../model/message.js';
import { MAX_LIMIT } from '../model/page.js';
import type { SenderScope } from '../model/scope.js';
import { isoTime } from '../model/time.js';
import type { Command, CommandRun } from './command.js';
import { follow, type Happening } from './follow.js';
import { interruptOf } from './io.js';
import { withSender } from './open-sender.js';
import { numberOf, oneOf, textOf, timeOf, UsageError } from './options.js';
import { jsonLine, type Paint, printable } from './text.js';

const STATUSES: readonly AttemptStatus[] = ['succeeded', 'failed'];

/** The longest deadline of an attempt, and some time to record it. */
const LATEST_ATTEMPT_MS = 75_000;
const LATEST_ENTRY_MS = 15_000;
/** Of one endpoint in a look: nobody reads faster, and what is more is passed over. */
const LIVE_PAGES = 10;
const ENDPOINTS_HOLD_MS = 5000;

export const tailCommand: Command = {
  name: 'tail',
  summary: 'Show attempts, or the audit log, as they come',
  usage: '[--endpoint ID] [--status STATUS] [--tenant ID] [--audit] [--since TIME] [--once]',
  description: `Shows the attempts of all workers in the order in which they began, from now on
until it is interrupted. It looks at the store once a second. With --json a line
is the whole record, response included.

TIME is RFC 3339, or how long ago: 90s, 15m, 2h, 7d.
Exit code: 0 also when it was interrupted.`,
  options: {
    endpoint: { value: 'ID', help: 'Only attempts to this endpoint' },
    status: { value: 'STATUS', help: `Only attempts that ${STATUSES.join(' or ')}` },
    tenant: { value: 'ID', help: 'Only what is this tenant’s' },
    audit: { help: 'Who changed what, in place of attempts' },
    since: { value: 'TIME', help: 'Begin with what happened then' },
    once: { help: 'Show what there is, and end (default: of the last hour)' },
    interval: { value: 'SECONDS', help: 'How often to look (default 1)' },
  },
  examples: [
    'hookplane tail --sqlite hookplane.sqlite --status failed',
    'hookplane tail --endpoint ep_… --since 15m --once --json > attempts.jsonl',
    'hookplane tail --audit',
  ],

  async run(given) {
    const { values, io, json, paint } = given;
    const request = readRequest(given);
    return withSender(given, async (sender) => {
      const { signal, release } = interruptOf(io);
      const scope = request.tenant === undefined ? sender : sender.forTenant(request.tenant);
      const write = async (record: unknown, line: string) =>
        io.stdout.write(json ? jsonLine(record) : `${line}\n`);
      let told = false;
      const tooMany = async () => {
        if (!told) await io.stderr.write('hookplane: More comes in than is shown; some is passed over\n');
        told = true;
      };
      const common = {
        since: request.since,
        intervalMs: request.intervalMs,
        once: values.once === true,
        signal,
        away: (problem: string) => io.stderr.write(`hookplane: ${printable(problem)}; trying again\n`),
      };
      try {
        if (values.audit) {
          await follow({
            ...common,
            latestMs: LATEST_ENTRY_MS,
            list: entryLister(scope, tooMany),
            show: ({ row }) => write(row, entryLine(row, paint)),
          });
        } else {
          await follow({
            ...common,
            latestMs: LATEST_ATTEMPT_MS,
            list: attemptLister(scope, request, tooMany),
            show: ({ row }) => write(row, attemptLine(row, paint)),
          });
        }
      } finally {
        release();
      }
      return 0;
    });
  },
};

interface TailRequest {
  endpoint: string | undefined;
  status: AttemptStatus | undefined;
  tenant: string | undefined;
  since: number | undefined;
  intervalMs: number;
}

/** @throws UsageError */
function readRequest({ values }: CommandRun): TailRequest {
  const now = Date.now();
  const endpoint = textOf(values, 'endpoint');
  const status = oneOf(values, 'status', STATUSES);
  if (values.audit && (endpoint !== undefined || status !== undefined)) {
    throw new UsageError('--audit shows no attempts: leave --endpoint and --status out');
  }
  return {
    endpoint,
    status,
    tenant: textOf(values, 'tenant'),
    since: timeOf(values, 'since', now) ?? (values.once ? now - 3_600_000 : undefined),
    intervalMs: (numberOf(values, 'interval', { min: 0.1, max: 3600 }) ?? 1) * 1000,
  };
}

type Row<Record> = Happening & { row: Record };

interface Walk<Record> {
  page(cursor: string | undefined): Promise<{ rows: Record[]; nextCursor: string | null }>;
  timeOf(row: Record): string;
  maxPages: number;
  /** Told when there are more. */
  tooMany(): Promise<void>;
}

async function pages<Record extends { id: string }>(walk: Walk<Record>): Promise<Row<Record>[]> {
  const found: Row<Record>[] = [];
  let cursor: string | undefined;
  for (let count = 1; ; count++) {
    const { rows, nextCursor } = await walk.page(cursor);
    for (const row of rows) found.push({ id: row.id, ms: Date.parse(walk.timeOf(row)), row });
    if (nextCursor === null) return found;
    if (count === walk.maxPages) {
      await walk.tooMany();
      return found;
    }
    cursor = nextCursor;
  }
}

/** The query of a list. What is over is asked for whole. */
function rangeOf(since: number, until: number | undefined) {
  const range = { since: isoTime(since), limit: MAX_LIMIT };
  return until === undefined
    ? { query: range, maxPages: LIVE_PAGES }
    : { query: { ...range, until: isoTime(until) }, maxPages: Number.POSITIVE_INFINITY };
}

function entryLister(scope: SenderScope, tooMany: () => Promise<void>) {
  return (since: number, until?: number): Promise<Row<AuditEntry>[]> => {
    const { query, maxPages } = rangeOf(since, until);
    return pages({
      maxPages,
      tooMany,
      timeOf: ({ at }) => at,
      async page(cursor) {
        const { entries, nextCursor } = await scope.audit.list({ ...query, cursor });
        return { rows: entries, nextCursor };
      },
    });
  };
}

/** Attempts are listed by endpoint: each is asked for. */
function attemptLister(scope: SenderScope, { endpoint, status }: TailRequest, tooMany: () => Promise<void>) {
  let known: { ids: string[]; at: number } | undefined;

  async function endpointIds(): Promise<string[]> {
    if (endpoint !== undefined) return [endpoint];
    if (known && Date.now() - known.at < ENDPOINTS_HOLD_MS) return known.ids;
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await scope.endpoints.list({ limit: MAX_LIMIT, cursor });
      for (const { id } of page.endpoints) ids.push(id);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    known = { ids, at: Date.now() };
    return ids;
  }

  return async (since: number, until?: number): Promise<Row<Attempt>[]> => {
    const { query, maxPages } = rangeOf(since, until);
    const found: Row<Attempt>[] = [];
    for (const id of await endpointIds()) {
      try {
        const rows = await pages<Attempt>({
          maxPages,
          tooMany,
          timeOf: ({ startedAt }) => startedAt,
          async page(cursor) {
            const { attempts, nextCursor } = await scope.endpoints.attempts(id, { ...query, status, cursor });
            return { rows: attempts, nextCursor };
          },
        });
        for (const row of rows) found.push(row);
      } catch (error) {
        // One that was deleted since the endpoints were listed has nothing to show.
        const gone = isHookplaneError(error) && error.code === 'ENDPOINT_NOT_FOUND';
        if (!gone || endpoint !== undefined) throw error;
      }
    }
    return found;
  };
}

/** Without the URL, which may have a password or a token in it. */
function attemptLine(attempt: Attempt, paint: Paint): string {
  const { status, startedAt, responseStatus, errorKind, durationMs, endpointId, messageId } = attempt;
  const succeeded = status === 'succeeded';
  const outcome = (succeeded ? paint.good : paint.bad)(status.padEnd(9));
  const answer = String(responseStatus ?? errorKind ?? '').padEnd(15);
  const took = `${durationMs} ms`.padStart(8);
  const what = `${printable(endpointId)} ${printable(messageId)} #${attempt.number} ${attempt.trigger}`;
  const why = succeeded || attempt.error === null ? '' : `  ${printable(attempt.error)}`;
  return `${paint.dim(startedAt)} ${outcome} ${answer} ${took}  ${what}${why}`;
}

function entryLine(entry: AuditEntry, paint: Paint): string {
  const { at, operation, targetId, actor, tenantId, changes } = entry;
  const who = actor ? printable(actor.name ?? actor.id) : 'somebody';
  const whose = tenantId === null ? '' : `  tenant ${printable(tenantId)}`;
  const what = changes.length === 0 ? '' : `  ${paint.dim(changes.map(printable).join(', '))}`;
  return `${paint.dim(at)} ${operation.padEnd(24)} ${printable(targetId)}  by ${who}${whose}${what}`;
}
