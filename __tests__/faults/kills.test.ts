import { type Campaign, CAMPAIGN_MS, runCampaigns } from './campaign.js';

const SEED = '20260501';
const campaigns = new Map<string, Campaign>();

beforeAll(async () => {
  for (const [name, campaign] of await runCampaigns(SEED, 'kills', 'sends')) campaigns.set(name, campaign);
}, CAMPAIGN_MS);

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
    expect(campaigns.get(name)?.findings[check]).toEqual({ count: 0, examples: [] });
  });
});

test('it was as hard as it was meant to be', () => {
  const { figures, kills } = campaigns.get('kills')!;
  expect(figures.kills).toBeGreaterThanOrEqual(25);
  expect(figures['of workers']).toBeGreaterThanOrEqual(8);
  expect(figures.acknowledged).toBeGreaterThan(0);
  // Some died while they held something, and some of that had been requested.
  expect(figures['leased at the kills']).toBeGreaterThan(0);
  expect(figures.duplicates).toBeGreaterThan(0);
  expect(Object.keys(kills).length).toBeGreaterThanOrEqual(6);
  const sends = campaigns.get('sends')!;
  expect(sends.kills).toEqual({ 'producer: within send': 5 });
  // Those that died late had stored it, those that died early had not.
  const stored = sends.figures['stored without an acknowledgement'];
  expect(stored).toBeGreaterThan(0);
  expect(stored).toBeLessThan(sends.figures['events tried']!);
});
