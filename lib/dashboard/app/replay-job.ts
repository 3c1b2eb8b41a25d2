import { useEffect, useState } from 'preact/hooks';
import {
  type AdminClient,
  isAdminClientError,
  type MessageReplay,
  type RangeReplay,
} from '../../client/index.js';

/** A replay is done page by page, by this page: it goes on while other views are looked at, and ends with the tab. */
export type JobPhase = 'counting' | 'counted' | 'running' | 'paused' | 'done' | 'canceled' | 'failed';

export type JobKind = 'replay' | 'reconcile';

export interface ReplayJob {
  kind: JobKind;
  request: RangeReplay;
  phase: JobPhase;
  /** Whether it has been counted, and the replay itself begun. */
  started: boolean;
  /** How many deliveries match; what reconcile has found. */
  found: number;
  done: number;
  /** What reconcile has found, to show and to replay. */
  messageIds: readonly string[];
  /** Where it goes on. */
  cursor: string | null;
  error: unknown;
}

const PAGE_SIZE = 200;
/** Ids are kept to be replayed one by one: beyond this the range is to be narrowed. */
export const MAX_IDS = 10_000;

let job: ReplayJob | null = null;
/** Each start and each stop begins a new one; what an earlier one answers is no longer wanted. */
let run = 0;
let underWay: Promise<void> = Promise.resolve();
const listeners = new Set<() => void>();

function set(change: Partial<ReplayJob>): void {
  if (job) job = { ...job, ...change };
  for (const listener of [...listeners]) listener();
}

export function useReplayJob(): ReplayJob | null {
  const [, render] = useState(0);
  useEffect(() => {
    const listener = () => render((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return job;
}

export function dropJob(): void {
  run++;
  job = null;
  set({});
}

/** Counts what a replay would make due again, or finds what was never delivered; changes nothing. */
export async function count(client: AdminClient, kind: JobKind, request: RangeReplay): Promise<void> {
  const own = ++run;
  // The end is fixed now: what is sent while it runs is not part of it.
  const fixed = { ...request, until: request.until ?? new Date().toISOString() };
  job = {
    kind,
    request: fixed,
    phase: 'counting',
    started: false,
    found: 0,
    done: 0,
    messageIds: [],
    cursor: null,
    error: null,
  };
  set({});
  const { endpointId, since, until } = fixed;
  try {
    if (kind === 'replay') {
      for await (const page of client.replayAll({ ...fixed, dryRun: true, limit: 1000 })) {
        if (own !== run) return;
        set({ found: page.total });
      }
    } else {
      for await (const page of client.reconcileAll({ endpointId, since, until, limit: 1000 })) {
        if (own !== run) return;
        set({ found: page.total, messageIds: [...job.messageIds, ...page.messageIds].slice(0, MAX_IDS) });
      }
    }
    if (own === run) set({ phase: 'counted' });
  } catch (error) {
    if (own === run) set({ phase: 'failed', error });
  }
}

/** Begins or goes on. */
export async function start(client: AdminClient): Promise<void> {
  if (!job) return;
  const own = ++run;
  const { request } = job;
  set({ phase: 'running', started: true, error: null });
  // After a pause the page that was under way may still be: it is not to be asked for twice.
  await underWay;
  if (own !== run) return;
  const work = job.kind === 'replay' ? replayRange(client, own, request) : replayIds(client, own, request);
  underWay = work.catch(() => {});
  try {
    await work;
    if (own === run) set({ phase: 'done' });
  } catch (error) {
    // What was done stays done, and its cursor says where to go on.
    if (own === run) set({ phase: 'failed', error });
  }
}

async function replayRange(client: AdminClient, own: number, request: RangeReplay): Promise<void> {
  const { done, cursor } = job!;
  const pages = client.replayAll({ ...request, limit: PAGE_SIZE, ...(cursor !== null && { cursor }) });
  for await (const page of pages) {
    // Though nobody may wait for it any more, its deliveries were made due.
    if (job?.request === request) {
      set({ done: done + page.total, cursor: page.nextCursor });
      // Paused during the last page: there is nothing to go on with, and no cursor would be the beginning.
      if (page.nextCursor === null && job.phase === 'paused') set({ phase: 'done' });
    }
    if (own !== run) return;
  }
}

async function replayIds(client: AdminClient, own: number, request: RangeReplay): Promise<void> {
  const { endpointId, freshId } = request;
  while (job?.request === request && own === run && job.done < job.messageIds.length) {
    const { done, messageIds } = job;
    await replayOne(client, { messageId: messageIds[done]!, endpointId, ...(freshId && { freshId }) });
    if (job?.request === request) set({ done: done + 1 });
  }
}

/** One that was expunged or removed since it was found holds up none of the others. */
async function replayOne(client: AdminClient, request: MessageReplay): Promise<void> {
  try {
    await client.replay(request);
  } catch (error) {
    const gone = isAdminClientError(error) && ['MESSAGE_NOT_FOUND', 'REPLAY_VALIDATION'].includes(error.code);
    if (!gone) throw error;
  }
}

/** The page that is under way is finished; nothing more is begun. */
export function pause(): void {
  run++;
  set({ phase: 'paused' });
}

export function cancel(): void {
  run++;
  set({ phase: 'canceled' });
}

addEventListener('beforeunload', (event) => {
  if (job?.phase === 'running') event.preventDefault();
});
