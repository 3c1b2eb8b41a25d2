// npm run bench [-- delivery send …]: every measurement, one after the other, since they would disturb each other side
// by side. All of them together are written to RESULTS.md.
import { writeFile } from 'node:fs/promises';
import { run as controlPlane } from './control-plane.mjs';
import { run as delivery } from './delivery.mjs';
import { run as fairness } from './fairness.mjs';
import { run as growth } from './growth.mjs';
import { run as postgresWorkers } from './postgres-workers.mjs';
import { run as replay } from './replay.mjs';
import { run as send } from './send.mjs';
import { run as startUp } from './start-up.mjs';
import { machine, results, say } from './support.mjs';

const BENCHMARKS = {
  delivery,
  send,
  'control-plane': controlPlane,
  fairness,
  replay,
  'postgres-workers': postgresWorkers,
  growth,
  'start-up': startUp,
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  throw new Error(
    `No benchmark is called ${unknown.join(', ')}: there are ${Object.keys(BENCHMARKS).join(', ')}`,
  );
}
say(
  `# Results of the benchmarks\n\n${machine()}. Ratios hold within one table; another machine has other figures.\n`,
);
for (const name of named.length > 0 ? named : Object.keys(BENCHMARKS)) await BENCHMARKS[name]();
if (named.length === 0) await writeFile(new URL('RESULTS.md', import.meta.url), results());
