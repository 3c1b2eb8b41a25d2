import { userInfo } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { createId } from '../model/ids.js';
import { MAX_LIMIT } from '../model/page.js';
import type { MessageReplay, RangeReplay } from '../model/replay.js';
import type { SenderScope } from '../model/scope.js';
import { isoTime } from '../model/time.js';
import type { Command, CommandRun } from './command.js';
import { interruptOf } from './io.js';
import { withSender } from './open-sender.js';
import { numberOf, oneOf, textOf, timeOf, UsageError, type Values } from './options.js';
import { createProgress, type Progress } from './progress.js';
import { counted, jsonLine } from './text.js';

const STATUSES = ['failed', 'delivered', 'pending', 'canceled'] as const;

export const replayCommand: Command = {
  name: 'replay',
  summary: 'Make deliveries due again',
  usage:
    '--endpoint ID --since TIME [--until TIME] [options]\n       hookplane replay --message ID [--endpoint ID] [options]',
  description: `The messages of a range that match the endpoint as it is now, or one message. The
workers of the application deliver them; this program does not. It goes on batch
by batch, oldest first. An interrupt lets the batch that is under way end and
prints the cursor with which to go on; so does a failure. The audit log says who
replayed what.

TIME is RFC 3339, or how long ago: 90s, 15m, 2h, 7d.
Exit code: 0 when it came to its end, 1 when it failed or was interrupted.`,
  options: {
    endpoint: { value: 'ID', help: 'Where to deliver to; it must not be paused' },
    since: { value: 'TIME', help: 'Messages that were sent then or later' },
    until: { value: 'TIME', help: 'Messages that were sent before then (default: now)' },
    message: { value: 'ID', help: 'This message; without --endpoint to all it was owed to' },
    type: {
      value: 'PATTERN',
      multiple: true,
      help: 'Only messages of this type: invoice.paid, invoice.*; may repeat',
    },
    status: { value: 'STATUS', help: `Only deliveries that are ${STATUSES.join(', ')}` },
    tenant: { value: 'ID', help: 'Refuse what is not this tenant’s' },
    'fresh-id': { help: 'Send under new webhook ids, so that receivers take them as new' },
    ttl: {
      value: 'SECONDS',
      help: 'How long it stays owed: the messageTtlSeconds of the application (default 2592000)',
    },
    'dry-run': { help: 'Count what would be replayed, and change nothing' },
    batch: { value: 'N', help: `How many at a time, up to ${MAX_LIMIT} (default ${MAX_LIMIT})` },
    cursor: { value: 'CURSOR', help: 'Go on where an earlier run ended, with its other options' },
  },
  examples: [
    'hookplane replay --endpoint ep_… --since 2h --status failed --dry-run',
    'hookplane replay --endpoint ep_… --since 2026-01-15 --until 2026-01-16 --type invoice.*',
    'hookplane replay --message msg_…',
  ],

  run(given) {
    const { values, io, json } = given;
    const request = readRequest(values);
    const tenant = textOf(values, 'tenant');
    const ttl = numberOf(values, 'ttl', { min: 1, max: 315_360_000 });
    return withSender(
      given,
      async (sender) => {
        const scope = sender.forCaller({
          ...(tenant !== undefined && { tenantId: tenant }),
          actor: { id: 'cli', name: operator() },
          requestId: createId('req', Date.now()),
        });
        const { signal, release } = interruptOf(io);
        const dryRun = values['dry-run'] === true;
        try {
          // Counted first for those who watch: how much there is decides whether they wait.
          const watched = io.stderr.isTTY && !json && !dryRun && 'since' in request;
          const counting =
            watched &&
            (await walk(scope, { ...request, dryRun: true }, signal, progressOf(given, 'Counting', null)));
          if (counting && counting.failure !== null) throw counting.failure;
          const total = counting && counting.nextCursor === null ? counting.replayed : null;
          const progress = progressOf(given, dryRun ? 'Counting' : 'Replaying', total);
          const walked = signal.aborted
            ? { replayed: 0, ended: false, nextCursor: request.cursor ?? null, failure: null }
            : await walk(scope, { ...request, dryRun }, signal, progress);
          return await report(given, request, walked);
        } finally {
          release();
        }
      },
      ttl === undefined ? {} : { messageTtlSeconds: Math.ceil(ttl) },
    );
  },
};

type Request = MessageReplay | RangeReplay;

/** @throws UsageError */
function readRequest(values: Values): Request {
  const now = Date.now();
  const messageId = textOf(values, 'message');
  const endpointId = textOf(values, 'endpoint');
  const since = timeOf(values, 'since', now);
  const until = timeOf(values, 'until', now);
  const status = oneOf(values, 'status', STATUSES);
  const types = values.type as string[] | undefined;
  const limit = numberOf(values, 'batch', { min: 1, max: MAX_LIMIT }) ?? MAX_LIMIT;
  if (!Number.isInteger(limit)) throw new UsageError('--batch must be a whole number');
  const common = {
    limit,
    ...(values['fresh-id'] === true && { freshId: true }),
    ...(values.cursor !== undefined && { cursor: textOf(values, 'cursor')! }),
  };
  if (messageId !== undefined) {
    if ([since, until, status, types].some((given) => given !== undefined)) {
      throw new UsageError(
        '--message names the one to replay: leave --since, --until, --type and --status out',
      );
    }
    return { ...common, messageId, ...(endpointId !== undefined && { endpointId }) };
  }
  if (endpointId === undefined || since === undefined) {
    throw new UsageError('A replay needs --endpoint and --since, or --message');
  }
  return {
    ...common,
    endpointId,
    since: isoTime(since),
    ...(until !== undefined && { until: isoTime(until) }),
    ...(types && { types }),
    ...(status && { status }),
  };
}

function progressOf({ io, json }: CommandRun, verb: string, total: number | null): Progress {
  return json ? { update: async () => {}, end: async () => {} } : createProgress(io, verb, total);
}

interface Walked {
  replayed: number;
  ended: boolean;
  /** Where it can be taken up again; null when it came to its end, or did not begin. */
  nextCursor: string | null;
  /** What ended it. */
  failure: unknown;
}

/** Replays batch by batch, until the end, an interrupt or a failure. */
async function walk(
  scope: SenderScope,
  request: Request,
  signal: AbortSignal,
  progress: Progress,
): Promise<Walked> {
  let replayed = 0;
  let cursor = request.cursor;
  try {
    do {
      const page = await scope.replay({ ...request, cursor });
      replayed += page.replayed;
      cursor = page.nextCursor ?? undefined;
      if (cursor === undefined) return { replayed, ended: true, nextCursor: null, failure: null };
      await progress.update(replayed);
      // A store in a file answers at once: without a pause an interrupt would never be heard of.
      await setImmediate();
    } while (!signal.aborted);
    return { replayed, ended: false, nextCursor: cursor, failure: null };
  } catch (failure) {
    return { replayed, ended: false, nextCursor: cursor ?? null, failure };
  } finally {
    await progress.end();
  }
}

async function report(
  { values, io, json, paint }: CommandRun,
  request: Request,
  { replayed, ended, nextCursor, failure }: Walked,
): Promise<number> {
  const dryRun = values['dry-run'] === true;
  const deliveries = counted(replayed, 'delivery', 'deliveries');
  const done = dryRun ? `${deliveries} would be replayed` : `${deliveries} replayed`;
  if (json) {
    await io.stdout.write(
      jsonLine({
        replayed,
        dryRun,
        nextCursor,
        resume: nextCursor && argumentsOf(request, nextCursor, values),
      }),
    );
  } else if (failure === null || replayed > 0) {
    await io.stdout.write(ended ? paint.good(`${done}.\n`) : `${done}.\n`);
  }
  if (!json && nextCursor !== null && (failure === null || replayed > 0)) {
    const command = argumentsOf(request, nextCursor, values).map(quoted).join(' ');
    await io.stderr.write(`Not at the end. To go on, with the same store:\n  hookplane ${command}\n`);
  }
  if (failure !== null) throw failure;
  return ended ? 0 : 1;
}

/** The command that goes on: times as they were understood, since a cursor belongs to them. */
function argumentsOf(request: Request, cursor: string, values: Values): string[] {
  const option = (name: string, value: string | undefined) =>
    value === undefined ? [] : [`--${name}`, value];
  const range = 'since' in request ? request : undefined;
  return [
    'replay',
    ...option('message', 'messageId' in request ? request.messageId : undefined),
    ...option('endpoint', request.endpointId),
    ...option('since', range?.since),
    ...option('until', range?.until),
    ...(range?.types ?? []).flatMap((type) => option('type', type)),
    ...option('status', range?.status),
    ...option('tenant', values.tenant as string | undefined),
    ...option('batch', values.batch as string | undefined),
    ...option('ttl', values.ttl as string | undefined),
    ...(request.freshId ? ['--fresh-id'] : []),
    ...(values['dry-run'] ? ['--dry-run'] : []),
    ...option('cursor', cursor),
  ];
}

function quoted(word: string): string {
  return /^[\w.:@/=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Who is at the terminal, for the audit log; not every system has a name for everybody. */
function operator(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
