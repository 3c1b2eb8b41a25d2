/** Where messages go in a campaign, by the path at the receiver. */
export const ENDPOINTS = [
  { path: '/all', types: null },
  { path: '/orders', types: ['order.placed'] },
  { path: '/invoices', types: ['invoice.paid'] },
  { path: '/quick', types: ['order.placed', 'user.made'] },
];

export const TYPES = ['order.placed', 'invoice.paid', 'user.made'];

export const pathsOf = (type) =>
  ENDPOINTS.filter(({ types }) => types === null || types.includes(type)).map(({ path }) => path);

/** Far longer than a request may take: a machine that is busy with other things must not overtake a living worker. */
export const LEASE_MS = 5000;

export const WORKER = {
  concurrency: 16,
  pollIntervalMs: 50,
  leaseMs: LEASE_MS,
  timeoutMs: 1000,
  retry: { delaysSeconds: Array(50).fill(0.3), jitter: 0.5 },
};

/** What is to be said is told to the campaign, and by the ledger. */
export const SILENT = { error() {}, warn() {}, info() {}, debug() {} };

/**
 * What a worker may have asked for without having recorded the answer: what is under way, what has ended since its last
 * turn began, and what that turn settles, each as many at most.
 */
export const MOST_UNSETTLED = 3 * WORKER.concurrency;
