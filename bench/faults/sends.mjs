import { startFleet } from './fleet.mjs';

/** A send to three endpoints and a sendMany of three: more statements than either takes. */
const SHAPES = [
  { way: ['fanOut'], statements: 16 },
  { way: ['many', 3], statements: 26 },
];

/** Kills a producer within a send after its first statement, its second, and so on: all of it is there or nothing. */
export async function sends({ seed, store, every = 1 }) {
  const fleet = await startFleet({ seed, store });
  try {
    await fleet.register();
    for (const { way, statements } of SHAPES) {
      const which = Array.from({ length: statements }, (_, index) => index + 1);
      // The last one in any case, by which it is stored.
      for (const statement of which.filter((each) => (each - 1) % every === 0 || each === statements)) {
        const doom = { point: 'within send', hit: 1, statement };
        await (await fleet.producer({ plan: [way], again: [], doom })).ended;
      }
    }
    return await fleet.settleUp();
  } finally {
    await fleet.close();
  }
}
