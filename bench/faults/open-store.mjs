import { onMessage } from './child.mjs';
import { MUTANTS } from './mutant-stores.mjs';
import { withDoom } from './points.mjs';
import { STORES } from './stores.mjs';

/** The store of a campaign, with what is wrong with it, and with the place at which this process dies. */
export async function openStore({ store: { name, descriptor }, mutant, doom, cuts, fillable, role }) {
  const fate = doom ? withDoom(doom) : undefined;
  const store = await STORES[name].open(descriptor, {
    afterStatement: fate?.afterStatement,
    cuts,
    disk: fillable ? (listener) => onMessage('disk', listener) : undefined,
  });
  const doomed = fate ? fate.wrap(store) : store;
  return mutant && MUTANTS[mutant].role === role ? MUTANTS[mutant].wrap(doomed) : doomed;
}
