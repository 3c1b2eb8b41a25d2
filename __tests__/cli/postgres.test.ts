import { postgresStore } from '../../lib/store/postgres.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { run } from './program.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});

const urlOf = (schema: string) => `${database.url}?schema=${schema}`;

test('a PostgreSQL database is migrated, in the schema that its URL names', async () => {
  const store = ['--postgres', urlOf('fresh')];
  expect(await run(['migrate', '--check', ...store])).toMatchObject({ code: 1 });
  expect(Object.keys(await database.rows('fresh'))).toEqual([]);
  expect(await run(['migrate', ...store])).toMatchObject({ code: 0, stderr: '' });
  expect(await run(['migrate', '--check'], { env: { HOOKPLANE_STORE: urlOf('fresh') } })).toMatchObject({
    code: 0,
  });
  expect(Object.keys(await database.rows('fresh'))).toContain('hookplane_messages');
});

test('it is looked after as a file is: how it is, what was tried, and again', async () => {
  const receiver = await startReceiver();
  const sender = await startSender({
    store: postgresStore({ connectionString: database.url, schema: 'lived_in' }),
  });
  const { id } = await sender.endpoints.create({ url: receiver.url(), tenantId: 'acme' });
  await sender.send({ type: 'order.created', tenantId: 'acme', data: 1 });
  await receiver.waitFor(1);
  const store = ['--postgres', urlOf('lived_in')];
  expect(await run(['health', ...store])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('workers   1'),
  });
  const replayed = await run(['replay', '--endpoint', id, '--since', '1h', '--json', ...store]);
  expect(replayed).toMatchObject({ code: 0, stderr: '' });
  await receiver.waitFor(2);
  expect((await sender.audit.list()).entries[0]).toMatchObject({ operation: 'replay', actor: { id: 'cli' } });
});

test.each(['nonsense', 'mysql://localhost/app'])('%j is no database', async (text) => {
  const { code, stderr } = await run(['health', '--postgres', text]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('postgres://')]);
});

test('a server that does not answer is told of without the password', async () => {
  const { code, stderr } = await run(['health', '--postgres', 'postgres://ada:hush@127.0.0.1:1/app']);
  expect(code).toBe(1);
  expect(stderr).not.toContain('hush');
});
