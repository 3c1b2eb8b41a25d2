import { expectError, expectIssues } from './expectations.js';
import { dump, openPlane, type Plane } from './plane.js';

let plane: Plane;
let endpointId: string;
let before: unknown;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
  endpointId = (await plane.sender.endpoints.create({ url: 'https://example.com/hook' })).id;
  await plane.sender.send({ type: 'a', data: 1 });
  before = await dump(plane);
});
afterEach(async () => expect(await dump(plane)).toEqual(before));

const enc = encodeURIComponent;

async function refused(query: string, message = /^(since|until) /): Promise<void> {
  const ranged = [
    '/messages',
    '/audit',
    '/stats',
    `/endpoints/${endpointId}/attempts`,
    `/endpoints/${endpointId}/stats`,
  ];
  for (const path of ranged) {
    const answer = await plane.ask(`GET ${path}?${query}`);
    expectError(answer, 'INVALID_QUERY');
    expect(answer.body.error).toMatch(message);
  }
}

const NO_OFFSET = /offset/;
const NOT_THERE = /does not exist/;
const DATES: [string, RegExp?][] = [
  ['2026-01-01T00:00:00', NO_OFFSET],
  ['2026-01-01T00:00', NO_OFFSET],
  ['2026-01-01 00:00:00', NO_OFFSET],
  ['2026-01-01T00:00:00.123', NO_OFFSET],
  ['2026-02-30', NOT_THERE],
  ['2026-02-30T00:00:00Z', NOT_THERE],
  ['2026-02-29', NOT_THERE],
  ['2026-04-31T12:00:00+02:00', NOT_THERE],
  ['2026-13-01', NOT_THERE],
  ['2026-00-01', NOT_THERE],
  ['2026-01-00', NOT_THERE],
  ['2026-01-01T24:00:00Z', NOT_THERE],
  ['2026-01-01T12:60:00Z', NOT_THERE],
  ['2026-01-01T12:00:61Z', NOT_THERE],
  ['2026-01-01T12:00:00+24:00', NOT_THERE],
  ['2026-01-01T12:00:00+02:60', NOT_THERE],
  ['yesterday'],
  ['1'],
  ['2026'],
  ['2026-01'],
  ['2026-1-1'],
  ['01/02/2026'],
  ['20260101'],
  ['20260101T000000Z'],
  ['1768478400000'],
  ['+002026-01-01T00:00:00Z'],
  ['-2026-01-01'],
  ['2026-W01'],
  ['2026-001'],
  ['2026-01-01Z'],
  ['2026-01-01T00:00Z'],
  ['2026-01-01T00:00:00+0200'],
  ['2026-01-01T00:00:00+02'],
  ['2026-01-01T00:00:00ZZ'],
  ['2026-01-01T00:00:00.Z'],
  ['2026-01-01T00:00:00.1234567890Z'],
  ['2026-01-01T00:00:00 Z'],
  [' 2026-01-01'],
  ['2026-01-01 '],
  ['2026-01-01\n'],
  ['２０２６-01-01'],
  ['Thu, 01 Jan 2026 00:00:00 GMT'],
  ['null'],
  [''],
  ['9'.repeat(200)],
];

describe('a date that is none', () => {
  it.each(DATES.map(([date, message]) => ({ date, message })))('$date', async ({ date, message }) => {
    await refused(`since=${enc(date)}`, message);
    await refused(`until=${enc(date)}`, message);
    for (const route of ['POST /replay', 'POST /reconcile']) {
      const since = await plane.ask(route, { json: { endpointId, since: date } });
      expectIssues(since, 'REPLAY_VALIDATION', ['since']);
      if (message) expect(since.body.issues![0]!.message).toMatch(message);
      const until = await plane.ask(route, { json: { endpointId, since: '2026-01-01', until: date } });
      expectIssues(until, 'REPLAY_VALIDATION', ['until']);
    }
  });

  it('has a space where its + was', async () => {
    for (const name of ['since', 'until']) {
      await refused(`${name}=2026-01-01T00:00:00+02:00`, /encode "\+" as "%2B"/);
    }
    expect((await plane.ask('GET /messages?since=2026-01-01T00:00:00%2B02:00')).status).toBe(200);
  });
});

describe('a range that ends before it begins', () => {
  it.each([
    ['2026-01-02', '2026-01-01'],
    ['2026-01-01T00:00:00.001Z', '2026-01-01'],
    ['2026-01-01T00:00:00Z', '2026-01-01T01:59:59+02:00'],
  ])('since %s, until %s', async (since, until) => {
    await refused(`since=${enc(since)}&until=${enc(until)}`, /^since is after until$/);
    for (const route of ['POST /replay', 'POST /reconcile']) {
      const answer = await plane.ask(route, { json: { endpointId, since, until } });
      expectIssues(answer, 'REPLAY_VALIDATION', ['since']);
    }
  });
});
