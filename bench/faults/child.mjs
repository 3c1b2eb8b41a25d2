// What the processes of a campaign have in common: they wait for their orders, and end with the process that has
// started them.

/** Resolves when the message is on its way: it arrives even if this process dies right after. */
export function say(message) {
  return new Promise((resolve, reject) => {
    process.send(message, (error) => (error ? reject(error) : resolve()));
  });
}

const listeners = new Map();
process.on('message', ({ kind, ...message }) => listeners.get(kind)?.(message));
process.on('disconnect', () => process.exit());

export function onMessage(kind, listener) {
  listeners.set(kind, listener);
}

/** The orders of this process, which come when it is wanted. */
export async function orders() {
  const given = new Promise((resolve) => onMessage('go', resolve));
  await say({ kind: 'loaded' });
  return given;
}

/** The clock that a sender over this store has, which its campaign may set. */
export function createClock(offset, { now = Date.now }) {
  let ahead = offset;
  onMessage('clock', (message) => {
    ahead = message.offset;
  });
  return () => now() + ahead;
}
