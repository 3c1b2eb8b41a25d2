import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

interface Growth {
  needs: Record<string, number>;
  shares: Record<string, number>;
  ends: Record<string, number>;
  breaksFirst: { resource: string; messagesPerDay: number };
}

const NAMES = [
  ...['bytes', 'slackBytes', 'sendWal', 'deliverWal', 'removeWal', 'sentPages', 'removedPages'],
  ...['sendDatabaseMs', 'deliverDatabaseMs', 'removeDatabaseMs', 'vacuumMs', 'vacuumedBytes'],
  ...['sendProcessMs', 'deliverProcessMs', 'removeProcessMs', 'removeMs'],
];
const all = (value: number) => Object.fromEntries(NAMES.map((name) => [name, value]));
/** Of every message 3 of everything, with one delivery that does not fail. */
const COSTS = { message: all(1), delivery: all(2), failed: all(4), connections: { web: 5, worker: 4 } };

/** The module is an ES module of the benchmarks', which Jest cannot load: a process works out all loads at once. */
function grow<Name extends string>(loads: Record<Name, object>): Record<Name, Growth> {
  const url = pathToFileURL(join(__dirname, '../../bench/growth/model.mjs')).href;
  const script = `
    import { fitCosts, model } from ${JSON.stringify(url)};
    const of = (cost) => ({ cost, connections: ${JSON.stringify(COSTS.connections)} });
    const { message, delivery, failed } = ${JSON.stringify(COSTS)};
    const sum = (deliveries, share) => Object.fromEntries(Object.keys(message).map((name) =>
      [name, message[name] + deliveries * (delivery[name] + share * failed[name])]));
    const costs = fitCosts(of(sum(1, 0)), of(sum(2, 0)), { ...of(sum(1, 0.25)), failedShare: 0.25 });
    const results = Object.entries(${JSON.stringify(loads)}).map(([name, load]) => [name, model(load, costs)]);
    console.log(JSON.stringify(Object.fromEntries(results)));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return JSON.parse(output) as Record<Name, Growth>;
}

describe('the model of growth', () => {
  const messagesPerDay = 86_400;
  const results = grow({
    one: { messagesPerDay },
    double: { messagesPerDay: 2 * messagesPerDay },
    week: { messagesPerDay, retentionDays: 7 },
    fanOut: { messagesPerDay, deliveriesPerMessage: 2 },
    failing: { messagesPerDay, failedShare: 0.5 },
    twoKiB: { messagesPerDay, payloadBytes: 2048 },
    smallDisk: { messagesPerDay, diskGB: 0.001 },
    oneCore: { messagesPerDay, databaseCores: 0.02 },
    fewConnections: { messagesPerDay, maxConnections: 20 },
    twoWorkers: { messagesPerDay, workers: 2, databaseCores: 1000 },
  });

  it('takes twice of everything for twice as many messages, and is at its end with as many', () => {
    const { one, double } = results;
    for (const name of ['walMBps', 'walGBPerDay', 'databaseCores', 'diskGB', 'removalHoursPerDay'])
      expect(double.needs[name]).toBeCloseTo(2 * one.needs[name]!, 9);
    expect(double.breaksFirst.messagesPerDay).toBeCloseTo(one.breaksFirst.messagesPerDay, 3);
  });

  it('counts the cores of a peak, the log of a day and the disk of all days', () => {
    // One message a second, three at the peak; three milliseconds each of send, delivery, removal and vacuum.
    expect(results.one.needs.databaseCores).toBeCloseTo((3 * 4 * 3) / 1000, 9);
    expect(results.one.needs.walGBPerDay).toBeCloseTo((86_400 * 3 * 3) / 1e9, 9);
    expect(results.one.needs.diskGB).toBeCloseTo((30 * 86_400 * 2 * 3) / 1e9, 9);
    expect(results.week.needs.diskGB).toBeCloseTo((7 * 86_400 * 2 * 3) / 1e9, 9);
  });

  it('takes the costs of deliveries, failed attempts and payloads apart', () => {
    const share = (name: keyof typeof results) =>
      results[name].needs.removalHoursPerDay! / results.one.needs.removalHoursPerDay!;
    expect(share('fanOut')).toBeCloseTo(5 / 3, 9);
    expect(share('failing')).toBeCloseTo(5 / 3, 9);
    expect(results.twoKiB.needs.walGBPerDay! - results.one.needs.walGBPerDay!).toBeCloseTo(
      (86_400 * 1024) / 1e9,
      9,
    );
  });

  it.each([
    ['smallDisk', 'disk size'],
    ['oneCore', 'database CPU'],
    ['fewConnections', 'connections'],
    ['twoWorkers', 'workers'],
  ] as const)('says of %s that %s breaks first', (name, resource) => {
    const { breaksFirst, ends } = results[name];
    expect(breaksFirst).toEqual({ resource, messagesPerDay: Math.min(...Object.values(ends)) });
  });

  it('adds workers until there is no connection for one, where it is not told how many there are', () => {
    // 20, less 3 of PostgreSQL's own and 10 of two web processes, are enough for one worker.
    expect(results.fewConnections.ends.connections).toBeCloseTo((0.5 * 1000 * 86_400) / (6 * 3), 3);
    expect(results.fewConnections.ends).not.toHaveProperty('workers');
    expect(results.twoWorkers.ends.workers).toBeCloseTo((2 * 0.5 * 1000 * 86_400) / (6 * 3), 3);
  });
});
