import { type Campaign, runCampaigns } from './campaign.js';

const SEED = '20260501';
const MUTANTS: [name: string, found: string[]][] = [
  ['settles before it sends', ['lost', 'never sent']],
  ['acknowledges before it stores', ['lost', 'not stored']],
  ['leases for ever', ['lost', 'unfinished']],
];
let campaigns: Map<string, Campaign>;

// Processes start slowly on a machine that is busy with other things.
beforeAll(async () => {
  campaigns = await runCampaigns(SEED, 'kills', 'sends', 'no-more-pages', 'mutants');
}, 300_000);

const campaign = (name: string): Campaign => campaigns.get(name)!;

describe.each([
  ['workers, producers and operators are killed at random moments and at named places', 'kills'],
  ['producers are killed within a send to several endpoints, and within a sendMany', 'sends'],
])('when %s', (_what, name) => {
  test.each([
    ['nothing that was acknowledged is lost', 'lost'],
    ['all that was acknowledged is in the store', 'not stored'],
    ['nothing arrives that was never sent', 'unexpected'],
    ['a send is there for all its endpoints or not at all, and so is a sendMany', 'half stored'],
    ['nothing is stored twice, with an idempotency key least of all', 'stored twice'],
    ['nothing is recorded as delivered that did not arrive', 'never sent'],
    ['nothing is repeated but what the killed had under way or had not settled', 'repeated'],
    ['nobody is overtaken that lives', 'overtaken'],
    ['every delivery comes to its end', 'unfinished'],
    ['the database is whole', 'damaged'],
    ['nobody else dies', 'crashed'],
  ])('%s', (_promise, check) => {
    expect(campaign(name).findings[check]).toEqual({ count: 0, examples: [] });
  });
});

test('killing was as hard as it was meant to be', () => {
  const { figures, kills } = campaign('kills');
  const killed = [...campaigns.values()].map((each) => each.figures.kills ?? 0);
  expect(killed.reduce((sum, each) => sum + each)).toBeGreaterThanOrEqual(30);
  expect(figures['of workers']).toBeGreaterThan(0);
  expect(figures.acknowledged).toBeGreaterThan(0);
  // Some died while they held something, and some of that had been requested.
  expect(figures['leased at the kills']).toBeGreaterThan(0);
  expect(figures.duplicates).toBeGreaterThan(0);
  expect(Object.keys(kills).length).toBeGreaterThanOrEqual(6);
});

test('of the producers that were killed within a send, the last had stored it, and the first had not', () => {
  const { figures, kills } = campaign('sends');
  expect(kills).toEqual({ 'producer: within send': 5 });
  expect(figures['stored without an acknowledgement']).toBeGreaterThan(0);
  expect(figures['stored without an acknowledgement']).toBeLessThan(figures['events tried']!);
});

describe('a disk that is full for a while', () => {
  test('makes sends fail, whole and with a word, and loses nothing that was acknowledged', () => {
    const { found, figures, refused } = campaign('no-more-pages');
    expect(found).toEqual([]);
    expect(figures['sends refused']).toBeGreaterThan(0);
    expect(refused).toEqual(['STORE_UNAVAILABLE: The disk of the store is full']);
  });

  test('makes turns fail, and the worker goes on with what it had when there is room again', () => {
    const { found, figures } = campaign('no-more-pages');
    expect(found).not.toContain('late');
    expect(figures['turns that failed']).toBeGreaterThan(0);
    expect(figures.duplicates).toBe(0);
  });
});

test.each(MUTANTS)('the checks find out a store that %s', (name, found) => {
  expect(campaign(name).found).toEqual(expect.arrayContaining(found));
});
