import { AUDITED_OPERATIONS } from '../../lib/model/audit.js';
import { startReceiver } from '../support/receiver.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { type Answer, dump, openPlane, type Plane } from './plane.js';
import { MORE_REQUESTS, REQUESTS } from './route-cases.js';

let plane: Plane;
let tenant: PlantedTenant;
beforeEach(async () => {
  plane = await openPlane();
  tenant = await plantTenant(plane, 'acme', 'mark');
});

/** From now on the database takes no entry of the audit log. */
function breakLog({ database }: Plane): void {
  database.exec(`create trigger audit_is_broken before insert on hookplane_audit_log
    begin select raise(abort, 'the log is broken'); end`);
}

function mendLog({ database }: Plane): void {
  database.exec('drop trigger audit_is_broken');
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
    breakLog(plane);
    expectFault(await plane.ask(route, { json }));
    expectFault(await plane.ask(route, { json, as: 'acme' }));
    expect(await dump(plane)).toEqual(before);
    mendLog(plane);
    expect((await plane.ask(route, { json })).status).toBeLessThan(300);
    expect((await dump(plane)).hookplane_audit_log).toHaveLength(before.hookplane_audit_log!.length + 1);
  });

  it('and is not shown either', async () => {
    breakLog(plane);
    const answer = await plane.ask(`GET /endpoints/${tenant.endpointId}/secret`);
    expectFault(answer);
    expect(answer.text).not.toContain('whsec_');
  });

  it('and is not sent: no receiver hears of the test', async () => {
    const receiver = await startReceiver();
    const open = await openPlane({ endpointHooks: () => ({}) });
    const { id } = await open.sender.endpoints.create({ url: receiver.url('/hook') });
    breakLog(open);
    expect((await open.ask(`POST /endpoints/${id}/test`)).status).toBe(500);
    expect(receiver.requests()).toEqual([]);
    mendLog(open);
    expect((await open.ask(`POST /endpoints/${id}/test`)).status).toBe(200);
    expect(receiver.requests()).toHaveLength(1);
  });
});

it('what needs no record goes on', async () => {
  breakLog(plane);
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
