/** Ends this process as `kill -9` does, and at this very place. */
export function die() {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

const settles = (turn) => turn.settlements.length > 0;
const always = () => true;

/**
 * Places at which a process dies. `before` and `after` a method of the store, `inside` a turn, where its transaction is
 * open and what it settles is written; `statement` after the so-manieth statement of a method. None needs any code in
 * the package: a sender takes every store.
 */
export const POINTS = {
  worker: {
    'leased, nothing sent': { method: 'outbox.turn', after: (_turn, { leased }) => leased.length > 0 },
    'answered, not settled': { method: 'outbox.turn', before: settles },
    'within a settlement': { method: 'outbox.turn', inside: settles },
    'settled, not yet known': { method: 'outbox.turn', after: settles },
  },
  producer: {
    'before it is stored': { method: 'messages.insert', before: always },
    'within send': { method: 'messages.insert', statement: true },
    'stored, not acknowledged': { method: 'messages.insert', after: always },
  },
  operator: {
    'within a replay': { method: 'outbox.requeue', statement: true },
    'between pages of a replay': { method: 'outbox.requeue', after: always },
    'within a migration': { method: 'open', statement: true },
  },
};

export const findPoint = (name) =>
  Object.values(POINTS)
    .flatMap((points) => Object.entries(points))
    .find(([known]) => known === name)?.[1];

/**
 * @param doom `point` names the place, `hit` says at which of its occurrences, `statement` after how many statements
 * @returns the store, and what its database has to call after each statement
 */
export function withDoom(doom) {
  const point = findPoint(doom.point);
  let hits = 0;
  /** Statements that are left to run; counted from the occurrence on. */
  let left = Number.POSITIVE_INFINITY;
  const hit = () => {
    hits += 1;
    return hits === doom.hit;
  };

  function wrap(call) {
    return async (...args) => {
      if (point.statement && hit()) left = doom.statement;
      if (point.before?.(...args) && hit()) die();
      if (point.inside?.(...args) && args[0].lease) return call(withinTurn(args[0]));
      const result = await call(...args);
      // It had fewer statements.
      if (left !== Number.POSITIVE_INFINITY) die();
      if (point.after?.(...args, result) && hit()) die();
      return result;
    };
  }

  function withinTurn(turn) {
    const share = (lanes) => {
      if (hit()) die();
      return turn.lease.share(lanes);
    };
    return { ...turn, lease: { ...turn.lease, share } };
  }

  return {
    wrap: (store) => wrapMethod(store, point.method, wrap),
    afterStatement: point.statement
      ? () => {
          left -= 1;
          if (left === 0) die();
        }
      : undefined,
  };
}

/** A store in which one method, such as `outbox.turn`, is another. */
export function wrapMethod(store, path, wrap) {
  const [first, second] = path.split('.');
  if (!second) return { ...store, [first]: wrap(store[first]) };
  return { ...store, [first]: { ...store[first], [second]: wrap(store[first][second]) } };
}
