import fc from 'fast-check';
import { onPostgres } from '../support/test-store.js';
import { plantTenant, plantWorker, type PlantedTenant } from './planted.js';
import { type Answer, type Asked, dump, openPlane, type Plane } from './plane.js';
import { MORE_REQUESTS, REQUESTS, type Target } from './route-cases.js';

/** On PostgreSQL a run takes twice as long. */
const RUNS = onPostgres ? 100 : 250;

/** Part of every text that the other tenant has, its id included. */
const CANARY = 'CANARY-5c1e';
const OTHER = `other ${CANARY}`;
const OWN = 'own';

let plane: Plane;
let own: PlantedTenant;
let other: PlantedTenant;
/** What the other tenant has, and what belongs to no tenant. */
let theirs: string[];
beforeEach(async () => {
  plane = await openPlane();
  await plantWorker(plane);
  own = await plantTenant(plane, OWN, 'own-mark');
  other = await plantTenant(plane, OTHER, CANARY);
  const { sender } = plane;
  const nobodys = [
    await sender.endpoints.create({ url: `https://example.com/${CANARY}`, description: CANARY }),
    await sender.send({ type: `${CANARY}.created`, data: CANARY, idempotencyKey: CANARY }),
  ].map(({ id }) => id);
  theirs = [CANARY, OTHER, other.secret, other.endpointId, other.messageId, ...other.attemptIds, ...nobodys];
});

/** Every row of every table that belongs to others: it names them, or something that they have. */
async function snapshotOfOthers(): Promise<unknown> {
  const ofOthers = (row: unknown) => theirs.some((id) => JSON.stringify(row).includes(id));
  return Object.entries(await dump(plane)).map(([table, rows]) => [table, rows.filter(ofOthers)]);
}

/** All that an answer says: its body, its headers, and its cursor in plain text. */
function everything({ text, headers, body }: Answer): string {
  const cursor = typeof body?.nextCursor === 'string' ? Buffer.from(body.nextCursor, 'base64url') : '';
  return `${text}\n${JSON.stringify([...headers])}\n${cursor}`;
}

/** Fails when the answer holds anything that is not the caller's and that the question did not hold. */
function expectNothingOfOthers(answer: Answer, route: string, asked: Asked): void {
  const question = `${decodeURIComponent(route)} ${JSON.stringify(asked.json ?? null)}`;
  const said = everything(answer);
  const leaked = theirs.filter((each) => said.includes(each) && !question.includes(each));
  expect({ route, leaked }).toEqual({ route, leaked: [] });
  // What the caller named itself may be repeated to it, and stays the only place.
  if (answer.status < 300 && !route.startsWith('GET')) expect(said).not.toContain(CANARY);
}

const requests = { ...REQUESTS, ...MORE_REQUESTS };
const pick = fc.constantFrom<'own' | 'other' | 'missing'>('own', 'other', 'missing');
const missing: Target = { tenantId: 'nobody', endpointId: 'ep_none', messageId: 'msg_none' };

const query = fc.constantFrom(
  '',
  '?limit=1',
  '?limit=1000',
  '?status=active',
  '?status=pending,delivered,failed,unrouted',
  '?since=2026-01-01',
  '?type=own-mark.created',
  `?type=${CANARY}.created`,
  `?tenantId=${OWN}`,
  `?actor=${CANARY}`,
  '?operation=tenants.setMetadata',
  '?status=failed',
);

it('§5.5 nothing of one tenant is in any answer to another, and nothing of it is changed', async () => {
  const untouched = await snapshotOfOthers();
  const step = fc.record({
    name: fc.constantFrom(...Object.keys(requests)),
    tenant: pick,
    endpoint: pick,
    message: pick,
    query,
    follow: fc.boolean(),
    extra: fc.constantFrom({}, { limit: 1 }, { dryRun: true }, { freshId: true }, { secret: 'whsec_x' }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 12 }), async (steps) => {
      // The run before may have deleted what the caller had.
      own = await plantTenant(plane, OWN, 'own-mark');
      for (const { name, tenant, endpoint, message, query, follow, extra } of steps) {
        const targets = { own, other, missing };
        const { route, json } = requests[name]!({
          tenantId: targets[tenant].tenantId,
          endpointId: targets[endpoint].endpointId,
          messageId: targets[message].messageId,
        });
        const asked: Asked = { as: OWN, ...(json !== undefined && { json: { ...json, ...extra } }) };
        const full = route.startsWith('GET') && !route.includes('?') ? `${route}${query}` : route;
        const answer = await plane.ask(full, asked);
        expectNothingOfOthers(answer, full, asked);
        if (follow && typeof answer.body?.nextCursor === 'string') {
          const cursor = answer.body.nextCursor;
          const next = route.startsWith('GET') ? `${full}&cursor=${cursor}` : route;
          const nextAsked = json === undefined ? asked : { ...asked, json: { ...json, ...extra, cursor } };
          expectNothingOfOthers(await plane.ask(next, nextAsked), next, nextAsked);
        }
      }
      expect(await snapshotOfOthers()).toEqual(untouched);
    }),
    { numRuns: RUNS },
  );
}, 240_000);

it('§5.5 the answers to one tenant are the same whatever another has', async () => {
  const answers = async () => {
    const texts: string[] = [];
    for (const [name, request] of Object.entries(requests)) {
      // What makes ids or keys differs by itself, what deletes is for the end, and the audit log grows by each round.
      if (/create|rotate|keys|delete|freshId|test|send|expunge|audit/.test(name)) continue;
      const { route, json } = request(own);
      const answer = await plane.ask(route, { as: OWN, json });
      texts.push(`${name} ${answer.status} ${answer.text}`);
    }
    return texts;
  };
  // The first round changes what the caller has, the later ones change it to the same again.
  await answers();
  const before = await answers();
  await plane.sender.endpoints.create({ tenantId: OTHER, url: 'https://example.com' });
  for (let n = 0; n < 5; n += 1)
    await plane.sender.send({ tenantId: OTHER, type: 'own-mark.created', data: n });
  await plane.sender.endpoints.disable(other.endpointId);
  expect(await answers()).toEqual(before);
  await plane.sender.tenants.delete(OTHER);
  expect(await answers()).toEqual(before);
});
