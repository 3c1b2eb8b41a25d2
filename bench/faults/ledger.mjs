import { count } from './groups.mjs';

/** What was tried, what was acknowledged, who was killed, what was received: all that nobody can take back. */
export function createLedger() {
  const ledger = {
    began: Date.now(),
    drainMs: 0,
    /** By event: its type, its sendMany if it was part of one, its idempotency key if it has one. */
    tried: new Map(),
    /** By event: the ids under which it was acknowledged. */
    acked: new Map(),
    /** When acknowledgements came. */
    ackedAt: [],
    received: [],
    kills: [],
    crashes: [],
    /** When the database was taken away, how, and how long it took to go on when it was back. */
    outages: [],
    backMs: [],
    /** What was asked to be sent again. */
    replays: [],
    /** By message: how often its lease was taken from a worker that lived. */
    overtaken: new Map(),
    /** What workers gave back that were not given the time to end it. */
    cutOff: [],
    /** Sends that failed, and turns. */
    refused: [],
    troubles: [],

    /** What a process tells of itself. */
    hear({ kind, ...message }) {
      if (kind === 'tried') for (const { n, ...event } of message.events) ledger.tried.set(n, event);
      else if (kind === 'acked') {
        for (const { n, id } of message.acked) idsOf(n).add(id);
        ledger.ackedAt.push(Date.now());
      } else if (kind === 'refused') ledger.refused.push(message);
      else if (kind === 'trouble') ledger.troubles.push(message.error);
      else if (kind === 'received') ledger.received.push(...message.requests);
      else if (kind === 'cutOff') ledger.cutOff.push(...message.keys);
      else if (kind === 'overtaken') for (const id of message.messageIds) count(ledger.overtaken, id);
    },
    /** Events with a key of which nobody knows what became of them. */
    unanswered: () => keyed((n) => !ledger.acked.has(n)),
    recentKeyed: () => keyed((n) => ledger.acked.has(n)).slice(-20),
  };

  function idsOf(n) {
    if (!ledger.acked.has(n)) ledger.acked.set(n, new Set());
    return ledger.acked.get(n);
  }

  function keyed(wanted) {
    return [...ledger.tried].flatMap(([n, { type, key }]) =>
      key !== null && wanted(n) ? [{ n, type, key }] : [],
    );
  }

  return ledger;
}
