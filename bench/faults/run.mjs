// npm run bench:faults -- [campaign …] [--seed …] [--store …] [--kills …] [--seconds …] [--short] [--json]
//
// Each campaign breaks something under load, lets the rest be delivered, and then holds what was acknowledged, what was
// received and what is stored against each other. It fails if anything is found; a mutant, if nothing is.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from '../support.mjs';
import { clock } from './clock.mjs';
import { diskFull } from './disk-full.mjs';
import { kills } from './kills.mjs';
import { mutant } from './mutant.mjs';
import { MUTANTS } from './mutant-stores.mjs';
import { outages } from './outages.mjs';
import { sends } from './sends.mjs';
import { stops } from './stops.mjs';
import { printTable } from './table.mjs';

const HERE = fileURLToPath(import.meta.url);
const DAY = 86_400_000;
const REQUIRED_MUTANTS = ['settles before it sends', 'acknowledges before it stores', 'leases for ever'];

/** By name: what is run, and what the short form changes. */
const CAMPAIGNS = {
  kills: { run: kills, short: { kills: 22, seconds: 240 } },
  sends: { run: sends, short: { every: 15 } },
  stops: { run: stops, short: { seconds: 1, stops: 3 } },
  clock: { run: clock, short: { steps: [-DAY, 0] }, waits: true },
  outages: { run: outages, short: { seconds: 10 }, stores: ['postgres'], waits: true },
  'no-more-pages': { run: diskFull, stores: ['sqlite'] },
  'full-disk': { run: onSmallDisk, stores: ['sqlite'], usual: mayMount },
  ...Object.fromEntries(
    Object.keys(MUTANTS).map((name) => [
      name,
      {
        run: (options) => mutant({ ...options, name }),
        mutant: true,
        inShort: REQUIRED_MUTANTS.includes(name),
        waits: MUTANTS[name].found.includes('unfinished'),
      },
    ]),
  ),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    store: { type: 'string', default: 'sqlite' },
    kills: { type: 'string' },
    seconds: { type: 'string' },
    within: { type: 'string' },
    short: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

function chosen() {
  const unknown = positionals.find((name) => !(name in CAMPAIGNS) && name !== 'mutants');
  if (unknown)
    throw new Error(`There is no campaign ${unknown}: ${Object.keys(CAMPAIGNS).join(', ')}, mutants`);
  return Object.keys(CAMPAIGNS).filter((name) => {
    const { stores, usual = () => true, inShort = true, mutant: isMutant } = CAMPAIGNS[name];
    if (stores && !stores.includes(values.store)) return false;
    if (positionals.includes(name)) return true;
    if (values.short && !inShort) return false;
    return positionals.length === 0 ? usual() : Boolean(isMutant && positionals.includes('mutants'));
  });
}

async function runOne(name) {
  const campaign = CAMPAIGNS[name];
  const result = await campaign.run({
    seed: values.seed,
    store: values.store,
    ...(values.short ? campaign.short : {}),
    ...(values.kills ? { kills: Number(values.kills) } : {}),
    ...(values.seconds ? { seconds: Number(values.seconds) } : {}),
    ...(values.within ? { folder: values.within } : {}),
  });
  const found = Object.keys(result.findings).filter((check) => result.findings[check].count > 0);
  const wanted = campaign.mutant ? MUTANTS[name].found : [];
  const ok = campaign.mutant ? wanted.every((check) => found.includes(check)) : found.length === 0;
  return { ...result, name, mutant: campaign.mutant === true, ok, found };
}

const MOUNT = 'mount -t tmpfs -o size=64m none "$0"';

/** Whether this user may, in a namespace that ends with the process. */
function mayMount() {
  return spawnSync('unshare', ['--mount', 'sh', '-c', MOUNT, tmpdir()], { stdio: 'ignore' }).status === 0;
}

/** The same on a disk of its own, which really is full when it is, for all processes and for the log too. */
async function onSmallDisk({ seed, store }) {
  const folder = await mkdtemp(join(tmpdir(), 'hookplane-disk-'));
  const itself = [
    process.execPath,
    HERE,
    'no-more-pages',
    '--seed',
    seed,
    '--store',
    store,
    '--within',
    folder,
    '--json',
  ];
  const child = spawn('unshare', ['--mount', 'sh', '-c', `${MOUNT} && exec "$@"`, folder, ...itself], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [result] = JSON.parse(await text(child.stdout));
  await rm(folder, { recursive: true, force: true });
  return result;
}

/** Those that mostly wait first, a few at a time; in the long form the one with the most kills by itself. */
async function runAll(names) {
  const results = new Map();
  const run = async (name) => void results.set(name, await runOne(name));
  const alone = values.short ? [] : names.filter((name) => name === 'kills');
  for (const name of alone) await run(name);
  const waits = (name) => (CAMPAIGNS[name].waits ? 0 : 1);
  const rest = names.filter((name) => !alone.includes(name)).sort((a, b) => waits(a) - waits(b));
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let name = rest.shift(); name; name = rest.shift()) await run(name);
    }),
  );
  return names.map((name) => results.get(name));
}

const results = await runAll(chosen());
if (values.json) console.log(JSON.stringify(results));
else {
  console.log(`\n${values.store}, seed ${values.seed}. ${machine()}\n`);
  printTable(results);
  const options = ['store', 'kills', 'seconds'].flatMap((name) =>
    values[name] ? [`--${name}`, values[name]] : [],
  );
  const again = [
    ...positionals.map((name) => (name.includes(' ') ? `'${name}'` : name)),
    '--seed',
    values.seed,
    ...options,
    ...(values.short ? ['--short'] : []),
  ];
  console.log(`\nAgain: npm run bench:faults -- ${again.join(' ')}`);
}
if (results.some(({ ok }) => !ok)) process.exitCode = 1;
