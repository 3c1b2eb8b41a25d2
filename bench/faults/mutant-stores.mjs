import { wrapMethod } from './points.mjs';

/**
 * Stores that break a promise. `role` says whose store it is, `way` how it shows, and `found` by which checks.
 */
export const MUTANTS = {
  'settles before it sends': {
    role: 'worker',
    way: { arrived: true },
    found: ['lost', 'never sent'],
    wrap: (store) => wrapMethod(store, 'outbox.turn', settlingFirst),
  },
  'acknowledges before it stores': {
    role: 'producer',
    way: { plan: Array(3).fill(['burst', 3]), doom: { point: 'before it is stored', hit: 3 } },
    found: ['lost', 'not stored'],
    wrap: (store) => wrapMethod(store, 'messages.insert', acknowledgingFirst),
  },
  'leases for ever': {
    role: 'worker',
    way: { doom: { point: 'leased, nothing sent', hit: 1 } },
    found: ['lost', 'unfinished'],
    wrap: (store) => leasingFor(store, 10 * 365 * 86_400_000),
  },
  'leases for no time': {
    role: 'worker',
    way: { workers: 2 },
    found: ['overtaken'],
    wrap: (store) => leasingFor(store, -1),
  },
  'forgets what it has settled': {
    role: 'worker',
    way: {},
    found: ['repeated'],
    wrap: (store) => wrapMethod(store, 'outbox.turn', forgettingSettlements),
  },
  'stores in pieces': {
    role: 'producer',
    way: { plan: [['many', 6]], doom: { point: 'stored, not acknowledged', hit: 2 } },
    found: ['half stored'],
    wrap: (store) => wrapMethod(store, 'messages.insert', storingInPieces),
  },
  'takes no notice of keys': {
    role: 'producer',
    way: { plan: [['keyed'], ['again'], ['again']] },
    found: ['stored twice'],
    wrap: (store) => wrapMethod(store, 'messages.insert', forgettingKeys),
  },
};

const settlingFirst = (turn) => async (given) => {
  const result = await turn({ ...given, settlements: [], news: [] });
  const settlements = result.leased.map(({ messageId, endpointId, fence, attemptCount }) => ({
    messageId,
    endpointId,
    fence,
    status: 'delivered',
    dueAt: given.now,
    attemptCount: attemptCount + 1,
    scheduleStep: 0,
    lost: false,
    lastError: null,
    attempt: null,
  }));
  await turn({ owner: given.owner, now: given.now, settlements, news: [], release: [], lease: null });
  return result;
};

const acknowledgingFirst = (insert) => async (messages, allOrNone) => {
  setTimeout(() => insert(messages, allOrNone).catch(() => {}), 50);
  return messages.map(({ id, tenantId, type, channels, idempotencyKey, createdAt, expiresAt }) => ({
    outcome: 'stored',
    message: {
      id,
      tenantId,
      type,
      channels,
      status: 'pending',
      idempotencyKey,
      createdAt: new Date(createdAt).toISOString(),
      expiresAt: new Date(expiresAt).toISOString(),
    },
    owed: 0,
    leased: [],
  }));
};

const leasingFor = (store, leaseMs) =>
  wrapMethod(
    store,
    'outbox.turn',
    (turn) => (given) => turn({ ...given, lease: given.lease && { ...given.lease, leaseMs } }),
  );

/** Every tenth of them is given back instead. */
const forgettingSettlements = (turn) => {
  let count = 0;
  return (given) => {
    const settlements = [];
    const release = [...given.release];
    for (const settlement of given.settlements) {
      count += 1;
      if (count % 10 === 0) release.push(settlement);
      else settlements.push(settlement);
    }
    return turn({ ...given, settlements, release });
  };
};

const storingInPieces = (insert) => async (messages, allOrNone) => {
  const inserted = [];
  for (const message of messages) inserted.push(...(await insert([message], allOrNone)));
  return inserted;
};

const forgettingKeys = (insert) => (messages, allOrNone) =>
  insert(
    messages.map((message) =>
      message.idempotencyKey === null
        ? message
        : { ...message, idempotencyKey: `${message.idempotencyKey} ${message.id}` },
    ),
    allOrNone,
  );
