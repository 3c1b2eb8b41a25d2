import type { AuditEntry } from '../../lib/model/audit.js';
import { expectAnswer, expectError } from './expectations.js';
import { openPlane, type Plane } from './plane.js';

const URL = 'https://example.com/hook';

let plane: Plane;
beforeEach(async () => {
  plane = await openPlane({
    admin: {
      authorize(request) {
        const tenantId = request.headers.get('x-test-tenant');
        return tenantId === null
          ? { allow: true, actor: 'operator' }
          : { allow: true, actor: `user of ${tenantId}`, tenantId };
      },
    },
  });
});

async function entries(as: string | undefined, query = ''): Promise<AuditEntry[]> {
  const answer = await plane.ask(`GET /audit${query}`, as === undefined ? {} : { as });
  expect(answer.status).toBe(200);
  return answer.body.entries as unknown as AuditEntry[];
}

const deeds = async (as: string | undefined, query?: string) =>
  (await entries(as, query)).map(({ actor, tenantId, operation }) => [actor?.id, tenantId, operation]);

async function create(as: string | undefined, tenantId?: string): Promise<string> {
  plane.clock.advance(1);
  const json = { url: URL, ...(tenantId !== undefined && { tenantId }) };
  const answer = await plane.ask('POST /endpoints', { json, ...(as !== undefined && { as }) });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

describe('a bound caller', () => {
  it('is shown what concerns its tenant, whoever did it, and nothing else', async () => {
    await create('acme');
    await create(undefined, 'acme');
    await create('other');
    await create(undefined);
    const own = [
      ['operator', 'acme', 'endpoints.create'],
      ['user of acme', 'acme', 'endpoints.create'],
    ];
    expect(await deeds('acme')).toEqual(own);
    expect(await deeds('acme', '?tenantId=acme')).toEqual(own);
    expect(await deeds('acme', '?actor=operator')).toEqual(own.slice(0, 1));
    expect(await deeds('acme', '?actor=user+of+other')).toEqual([]);
    expect(await deeds('nobody')).toEqual([]);
    expect(await deeds(undefined)).toEqual([
      ['operator', null, 'endpoints.create'],
      ['user of other', 'other', 'endpoints.create'],
      ...own,
    ]);
    expect(await deeds(undefined, '?tenantId=other')).toHaveLength(1);
  });

  it('may not ask for another tenant', async () => {
    expectError(await plane.ask('GET /audit?tenantId=other', { as: 'acme' }), 'INVALID_QUERY');
  });

  it('is shown nothing of a target that is another tenant’s', async () => {
    const id = await create('other');
    expectAnswer(await plane.ask(`GET /audit?targetId=${id}`, { as: 'acme' }), 200, {
      entries: [],
      nextCursor: null,
    });
  });

  it('goes on from any cursor with its own', async () => {
    for (const tenant of ['acme', 'other', 'acme', 'other']) await create(tenant);
    const { nextCursor } = (await plane.ask('GET /audit?limit=1')).body;
    expect(await deeds('acme', `?cursor=${nextCursor}`)).toEqual([
      ['user of acme', 'acme', 'endpoints.create'],
      ['user of acme', 'acme', 'endpoints.create'],
    ]);
  });
});

describe('a tenant that was deleted', () => {
  it.each([undefined, 'acme'])(
    'stays in the log of unbound callers, with its deletion (by %s)',
    async (as) => {
      const id = await create('acme');
      await plane.ask(`GET /endpoints/${id}/secret`, { as: 'acme' });
      expect((await plane.ask('DELETE /tenants/acme', as === undefined ? {} : { as })).status).toBe(204);
      const actor = as === undefined ? 'operator' : 'user of acme';
      const all = [
        [actor, 'acme', 'tenants.delete'],
        ['user of acme', 'acme', 'endpoints.secret'],
        ['user of acme', 'acme', 'endpoints.create'],
      ];
      expect(await deeds(undefined)).toEqual(all);
      expect(await deeds(undefined, '?tenantId=acme')).toEqual(all);
      expect(await deeds(undefined, '?targetId=acme')).toEqual(all.slice(0, 1));
    },
  );

  it('has no log for its own callers, nor for those of the next one of that name', async () => {
    const gone = await create('acme');
    const before = await plane.ask('GET /audit?limit=1', { as: 'acme' });
    await create('acme');
    await plane.ask('DELETE /tenants/acme', { as: 'acme' });
    for (const query of ['', '?operation=tenants.delete', `?targetId=${gone}`, '?actor=user+of+acme']) {
      expect(await entries('acme', query)).toEqual([]);
    }
    const anew = await create('acme');
    expect(before.body.entries).toHaveLength(1);
    expect((await entries('acme')).map(({ targetId }) => targetId)).toEqual([anew]);
    expect((await entries('acme', `?targetId=${gone}`)).length).toBe(0);
    expect(await entries(undefined)).toHaveLength(4);
  });

  it('changes nothing of what others are shown', async () => {
    await create('other');
    await create('acme');
    const before = await entries('other');
    await plane.ask('DELETE /tenants/acme');
    expect(await entries('other')).toEqual(before);
    expect(before).toHaveLength(1);
  });
});
