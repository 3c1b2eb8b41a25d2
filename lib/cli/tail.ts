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
            ...listers(entryPages(scope), tooMany),
            show: ({ row }) => write(row, entryLine(row, paint)),
          });
        } else {
          await follow({
            ...common,
            latestMs: LATEST_ATTEMPT_MS,
            ...listers(attemptPages(scope, request), tooMany),
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

interface Query {
  since: string;
  until?: string;
  limit: number;
  cursor?: string | undefined;
}

/** A list, newest first, page by page. */
type ReadPage<Record> = (query: Query) => Promise<{ rows: Row<Record>[]; nextCursor: string | null }>;

/** The lists that are walked for what happened in a range of time, one after the other. */
type Lists<Record> = () => Promise<ReadPage<Record>[]>;

function listers<Record>(lists: Lists<Record>, tooMany: () => Promise<void>) {
  return {
    async list(since: number): Promise<Row<Record>[]> {
      const found: Row<Record>[] = [];
      for (const read of await lists()) {
        let left = LIVE_PAGES;
        for await (const rows of pagesOf(read, { since: isoTime(since), limit: MAX_LIMIT })) {
          if (left-- === 0) {
            await tooMany();
            break;
          }
          for (const row of rows) found.push(row);
        }
      }
      return found;
    },

    async listAll(since: number, until: number, most: number): Promise<Row<Record>[] | null> {
      const query = { since: isoTime(since), until: isoTime(until), limit: MAX_LIMIT };
      const found: Row<Record>[] = [];
      for (const read of await lists()) {
        for await (const rows of pagesOf(read, query)) {
          for (const row of rows) found.push(row);
          if (found.length > most) return null;
        }
      }
      return found;
    },
  };
}

async function* pagesOf<Record>(read: ReadPage<Record>, query: Query): AsyncGenerator<Row<Record>[]> {
  let cursor: string | undefined;
  do {
    const page = await read({ ...query, cursor });
    yield page.rows;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

function entryPages(scope: SenderScope): Lists<AuditEntry> {
  const read: ReadPage<AuditEntry> = async (query) => {
    const { entries, nextCursor } = await scope.audit.list(query);
    return { rows: entries.map((row) => ({ id: row.id, ms: Date.parse(row.at), row })), nextCursor };
  };
  return async () => [read];
}

/** Attempts are listed by endpoint: each is asked for. */
function attemptPages(scope: SenderScope, { endpoint, status }: TailRequest): Lists<Attempt> {
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

  const readerOf =
    (id: string): ReadPage<Attempt> =>
    async (query) => {
      try {
        const { attempts, nextCursor } = await scope.endpoints.attempts(id, { ...query, status });
        const rows = attempts.map((row) => ({ id: row.id, ms: Date.parse(row.startedAt), row }));
        return { rows, nextCursor };
      } catch (error) {
        // One that was deleted since the endpoints were listed has nothing to show.
        const gone = isHookplaneError(error) && error.code === 'ENDPOINT_NOT_FOUND';
        if (!gone || endpoint !== undefined) throw error;
        return { rows: [], nextCursor: null };
      }
    };
  return async () => (await endpointIds()).map(readerOf);
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
