import { AUDITED_OPERATIONS } from '../../lib/model/audit.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { onPostgres } from '../support/test-store.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { type Answer, dump, openPlane, type Plane } from './plane.js';
import { MORE_REQUESTS, REQUESTS } from './route-cases.js';

let plane: Plane;
let tenant: PlantedTenant;
beforeEach(async () => {
  plane = await openPlane();
  tenant = await plantTenant(plane, 'acme', 'mark');
});

const BEFORE_ENTRY = 'create trigger audit_is_broken before insert on hookplane_audit_log';
const BREAKING = onPostgres
  ? [
      `create or replace function hookplane_no_entry() returns trigger language plpgsql
        as $$ begin raise 'the log is broken'; end $$`,
      `${BEFORE_ENTRY} for each row execute function hookplane_no_entry()`,
    ]
  : [`${BEFORE_ENTRY} begin select raise(abort, 'the log is broken'); end`];
const MENDING = `drop trigger if exists audit_is_broken${onPostgres ? ' on hookplane_audit_log' : ''}`;

/** From now on the database takes no entry of the audit log. */
async function breakLog(open: Plane): Promise<void> {
  onCleanUp('test', 'sender', () => mendLog(open));
  for (const statement of BREAKING) await open.query(statement);
}

async function mendLog(open: Plane): Promise<void> {
  await open.query(MENDING);
}

function expectFault(answer: Answer): void {
  expect(answer).toMatchObject({ status: 500, body: { errorCode: 'INTERNAL', error: 'Internal error' } });
  expect(plane.faults.at(-1)!.error).toMatchObject({ message: 'the log is broken' });
}

/** Every request that is recorded. */
const RECORDED = Object.entries({ ...REQUESTS, ...MORE_REQUESTS }).filter(
  ([name]) =>
    (AUDITED_OPERATIONS as readonly string[]).includes(name) || (/^replay/.test(name) && !/dry/.test(name)),
);

describe('what cannot be recorded does not happen', () => {
  it.each(RECORDED)('%s', async (name, request) => {
    if (name === 'endpoints.enable') await plane.sender.endpoints.disable(tenant.endpointId);
    const { route, json } = request(tenant);
    const before = await dump(plane);
    await breakLog(plane);
    expectFault(await plane.ask(route, { json }));
    expectFault(await plane.ask(route, { json, as: 'acme' }));
    expect(await dump(plane)).toEqual(before);
    await mendLog(plane);
    expect((await plane.ask(route, { json })).status).toBeLessThan(300);
    expect((await dump(plane)).hookplane_audit_log).toHaveLength(before.hookplane_audit_log!.length + 1);
  });

  it('and is not shown either', async () => {
    await breakLog(plane);
    const answer = await plane.ask(`GET /endpoints/${tenant.endpointId}/secret`);
    expectFault(answer);
    expect(answer.text).not.toContain('whsec_');
  });

  it('and is not sent: no receiver hears of the test', async () => {
    const receiver = await startReceiver();
    const open = await openPlane({ endpointHooks: () => ({}) });
    const { id } = await open.sender.endpoints.create({ url: receiver.url('/hook') });
    await breakLog(open);
    expect((await open.ask(`POST /endpoints/${id}/test`)).status).toBe(500);
    expect(receiver.requests()).toEqual([]);
    await mendLog(open);
    expect((await open.ask(`POST /endpoints/${id}/test`)).status).toBe(200);
    expect(receiver.requests()).toHaveLength(1);
  });
});

it('what needs no record goes on', async () => {
  await breakLog(plane);
  const { route, json } = MORE_REQUESTS['replay of a range, dry']!(tenant);
  expect((await plane.ask(route, { json })).body.replayed).toBe(1);
  for (const operation of [
    'endpoints.list',
    'messages.get',
    'audit.list',
    'reconcile',
    'keys.generateSymmetric',
  ]) {
    const asked = REQUESTS[operation]!(tenant);
    expect((await plane.ask(asked.route, { json: asked.json })).status).toBeLessThan(300);
  }
  await plane.sender.endpoints.disable(tenant.endpointId);
  await plane.sender.send({ type: 'a', data: 1 });
});
