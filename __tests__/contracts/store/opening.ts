import type { StoreUnderTest } from '../store.js';
import { addEndpoint } from './fixtures.js';

export function openingContract(current: () => StoreUnderTest): void {
  test('a store that is not open says so, and works as soon as it is', async () => {
    const { store } = current();
    await expect(store.endpoints.get(undefined, 'ep_a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(store.workers.beat('wrk_a', 1)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.open();
    expect(await store.endpoints.get(undefined, 'ep_a')).toBeNull();
  });

  test('it may be opened many times, at once and again', async () => {
    const { store } = current();
    await Promise.all([store.open(), store.open(), store.open()]);
    const { id } = await addEndpoint(store);
    await store.open();
    expect(await store.endpoints.get(undefined, id)).toMatchObject({ id });
  });

  test('a closed store says so, can be closed again, and can be opened again', async () => {
    const { store } = current();
    await store.open();
    await store.close();
    await store.close();
    await expect(store.tenants.get('acme')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.open();
    expect(await store.tenants.get('acme')).toBeNull();
  });

  test('a store that was never opened can be closed', async () => {
    await expect(current().store.close()).resolves.toBeUndefined();
  });

  test('what was stored is there for a store that opens the same data later', async () => {
    const { store, reopen } = current();
    if (!reopen) return;
    await store.open();
    const endpoint = await addEndpoint(store, { tenantId: 'acme' });
    await store.close();
    const later = await reopen();
    await later.open();
    expect(await later.endpoints.get('acme', endpoint.id)).toEqual(endpoint);
  });

  test('stores that open the same empty data at once migrate it once', async () => {
    const { store, reopen } = current();
    if (!reopen) return;
    const others = [await reopen(), await reopen()];
    await Promise.all([store, ...others].map((each) => each.open()));
    const endpoint = await addEndpoint(store);
    for (const other of others) expect(await other.endpoints.get(undefined, endpoint.id)).toEqual(endpoint);
  });

  test('how far the schema is can be asked of a store that is open, closed, or behind', async () => {
    const { store, reopen, setSchemaVersion } = current();
    const behind = await store.schema();
    expect(behind).toMatchObject({ version: 0, pending: [{ version: 1, name: 'initial' }] });
    expect(behind.pending.at(-1)?.version).toBe(behind.wanted);
    await store.open();
    const upToDate = { version: behind.wanted, wanted: behind.wanted, pending: [] };
    // Data that is in memory is another connection's alone.
    if (!reopen || !setSchemaVersion) return;
    expect(await store.schema()).toEqual(upToDate);
    await store.close();
    expect(await store.schema()).toEqual(upToDate);
    await store.open();
    await setSchemaVersion(999);
    expect(await (await reopen()).schema()).toEqual({ ...upToDate, version: 999 });
  });

  test('a schema that is newer than this version is refused and left alone', async () => {
    const { store, reopen, setSchemaVersion } = current();
    if (!reopen || !setSchemaVersion) return;
    await store.open();
    const endpoint = await addEndpoint(store);
    await setSchemaVersion(999);
    const other = await reopen();
    await expect(other.open()).rejects.toMatchObject({
      code: 'MIGRATION_REQUIRED',
      message: expect.stringMatching(/999.*newer/),
    });
    await setSchemaVersion(1);
    await other.open();
    expect(await other.endpoints.get(undefined, endpoint.id)).toEqual(endpoint);
  });

  test('without migrating, an empty database is refused until another store has migrated it', async () => {
    const { store, reopen } = current();
    if (!reopen) return;
    const other = await reopen({ migrate: false });
    await expect(other.open()).rejects.toMatchObject({
      code: 'MIGRATION_REQUIRED',
      message: expect.stringMatching(/version 0/),
    });
    await store.open();
    await other.open();
    expect(await other.endpoints.get(undefined, 'ep_a')).toBeNull();
  });
}
