import { type Campaign, CAMPAIGN_MS, runCampaigns } from './campaign.js';

const SEED = '20260501';
const MUTANTS: [name: string, found: string[]][] = [
  ['settles before it sends', ['lost', 'never sent']],
  ['acknowledges before it stores', ['lost', 'not stored']],
  ['leases for ever', ['lost', 'unfinished']],
];
let campaigns: Map<string, Campaign>;

beforeAll(async () => {
  campaigns = await runCampaigns(SEED, 'stops', 'clock', 'no-more-pages', 'mutants');
}, CAMPAIGN_MS);

const campaign = (name: string): Campaign => campaigns.get(name)!;

describe('two workers and two producers on one database, the workers stopped under load and replaced', () => {
  test('lose nothing, and repeat nothing but what a worker was given no time to end', () => {
    expect(campaign('stops').found).toEqual([]);
    expect(campaign('stops').figures.acknowledged).toBeGreaterThan(0);
  });

  test('fail no send and no turn', () => {
    const { refused, troubles } = campaign('stops');
    expect([refused, troubles]).toEqual([[], []]);
  });
});

describe('a clock that is set back by a day and forward again while workers deliver', () => {
  test('loses nothing, and makes nothing wait for a day', () => {
    expect(campaign('clock').found).toEqual([]);
    expect(campaign('clock').figures.deliveries).toBeGreaterThan(0);
  });
});

describe('a disk that is full for a while', () => {
  test('makes sends fail, whole and with a word, and loses nothing that was acknowledged', () => {
    const { found, figures, refused } = campaign('no-more-pages');
    expect(found).toEqual([]);
    expect(figures['sends refused']).toBeGreaterThan(0);
    expect(refused).toEqual(['STORE_UNAVAILABLE: The disk of the store is full']);
  });

  test('makes turns fail, and workers go on with what they had when there is room again', () => {
    const { found, figures } = campaign('no-more-pages');
    expect(found).not.toContain('late');
    expect(figures['turns that failed']).toBeGreaterThan(0);
    expect(figures.duplicates).toBe(0);
  });
});

test.each(MUTANTS)('the checks find out a store that %s', (name, found) => {
  expect(campaign(name).found).toEqual(expect.arrayContaining(found));
});
