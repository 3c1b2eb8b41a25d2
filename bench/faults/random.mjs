/**
 * Numbers that a seed repeats (mulberry32). A branch of its own for each who draws keeps what one draws apart from how
 * often the others do.
 */
export function createRandom(seed) {
  let state = hash(String(seed));
  function next() {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const integer = (from, to) => from + Math.floor(next() * (to - from + 1));
  return {
    /** From 0 (inclusive) to 1. */
    next,
    /** Both ends inclusive. */
    integer,
    chance: (probability) => next() < probability,
    pick: (items) => items[integer(0, items.length - 1)],
    /** Gives all of them before it gives one again, in another order each time. */
    deck(items) {
      let left = [];
      return () => {
        if (left.length === 0) left = [...items];
        return left.splice(integer(0, left.length - 1), 1)[0];
      };
    },
    branch: (name) => createRandom(`${seed}/${name}`),
  };
}

function hash(text) {
  let value = 2166136261;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0), 16777619);
  return value;
}
