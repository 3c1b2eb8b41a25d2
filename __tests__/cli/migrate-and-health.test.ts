import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { createClock, MINUTE } from '../support/clock.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { jsonLines, run } from './program.js';

const newFile = async () => join(await temporaryFolder(), 'store.sqlite');

describe('migrate', () => {
  const versionOf = async (file: string) => (await sqliteStore({ file }).schema()).version;

  it('makes the store and its schema, and says what it applied', async () => {
    const file = await newFile();
    const first = await run(['migrate', '--sqlite', file]);
    expect(first).toEqual({
      code: 0,
      stdout: 'Version 0 to 1: 1 migration applied:\n  1 initial\n',
      stderr: '',
    });
    expect(await versionOf(file)).toBe(1);
    const second = await run(['migrate', '--sqlite', file]);
    expect(second).toEqual({ code: 0, stdout: 'The schema is up to date: version 1.\n', stderr: '' });
  });

  it('answers the same in JSON', async () => {
    const file = await newFile();
    const applied = async () => jsonLines((await run(['migrate', '--sqlite', file, '--json'])).stdout);
    expect(await applied()).toEqual([{ version: 1, applied: [{ version: 1, name: 'initial' }] }]);
    expect(await applied()).toEqual([{ version: 1, applied: [] }]);
  });

  it('may run twice at once', async () => {
    const file = await newFile();
    const both = await Promise.all([1, 2].map(() => run(['migrate', '--sqlite', file])));
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(await versionOf(file)).toBe(1);
  });

  it('refuses a schema that is newer', async () => {
    const file = await newFile();
    await run(['migrate', '--sqlite', file]);
    const database = new Database(file);
    database.prepare("insert into hookplane_schema_migrations values (999, 'later', 0)").run();
    database.close();
    const { code, stderr } = await run(['migrate', '--sqlite', file]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('newer than the 1')]);
    const check = await run(['migrate', '--check', '--sqlite', file]);
    expect([check.code, check.stdout]).toEqual([1, expect.stringContaining('upgrade hookplane')]);
  });

  it('cannot make a store in a folder that there is not', async () => {
    const { code, stderr } = await run(['migrate', '--sqlite', join(await newFile(), 'deeper.sqlite')]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('The SQLite file cannot be opened')]);
  });

  describe('--check', () => {
    it('makes no store where there is none, and ends with 1', async () => {
      const file = await newFile();
      const { code, stdout } = await run(['migrate', '--check', '--sqlite', file]);
      expect([code, stdout]).toEqual([1, 'Version 0 to 1: 1 migration would be applied:\n  1 initial\n']);
      expect(existsSync(file)).toBe(false);
    });

    it('says what would be applied, applies nothing, and ends with 1', async () => {
      const file = await newFile();
      new Database(file).exec('create table of_the_application (id)').close();
      const { code, stdout } = await run(['migrate', '--check', '--sqlite', file]);
      expect([code, stdout]).toEqual([1, 'Version 0 to 1: 1 migration would be applied:\n  1 initial\n']);
      const json = await run(['migrate', '--check', '--json', '--sqlite', file]);
      expect(jsonLines(json.stdout)).toEqual([
        { version: 0, wanted: 1, pending: [{ version: 1, name: 'initial' }], upToDate: false },
      ]);
      expect(await versionOf(file)).toBe(0);
    });

    it('ends with 0 when there is nothing to do', async () => {
      const file = await newFile();
      await run(['migrate', '--sqlite', file]);
      const { code, stdout } = await run(['migrate', '--check', '--json', '--sqlite', file]);
      expect([code, ...jsonLines(stdout)]).toEqual([
        0,
        { version: 1, wanted: 1, pending: [], upToDate: true },
      ]);
    });
  });
});

describe('health', () => {
  it('ends with 0 and says what is owed when a worker is alive', async () => {
    const sender = await startSender();
    const { id } = await sender.endpoints.create({ url: 'https://example.com/' });
    await sender.endpoints.disable(id);
    const { code, stdout } = await run(['health', '--sqlite', sender.file]);
    expect([code, stdout]).toEqual([0, 'ok\nowed      0\noverdue   none\nworkers   1\n']);
    const json = await run(['health', '--json', '--sqlite', sender.file]);
    expect([json.code, ...jsonLines(json.stdout)]).toEqual([0, await sender.health()]);
  });

  it('ends with 1 and says why when nobody delivers', async () => {
    const sender = await startSender({ started: false });
    await sender.endpoints.create({ url: 'https://example.com/', tenantId: 'acme' });
    await sender.send({ type: 'a', data: 1, tenantId: 'acme' });
    const { code, stdout } = await run(['health', '--sqlite', sender.file]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^not ok: no worker has given a sign of life for 15 s\nowed {6}1\noverdue {3}\d+ m?s\n/,
    );
    const other = await run(['health', '--json', '--tenant', 'other', '--sqlite', sender.file]);
    expect(jsonLines(other.stdout)).toEqual([
      expect.objectContaining({ outboxDepth: 0, reason: 'no_worker' }),
    ]);
  });

  it('ends with 1 when something has been due for longer than it may', async () => {
    const clock = createClock(Date.now() - 10 * MINUTE);
    const sender = await startSender({ started: false, now: clock.now });
    await sender.endpoints.create({ url: 'https://example.com/' });
    await sender.send({ type: 'a', data: 1 });
    const alive = new Database(sender.file);
    alive.prepare('insert into hookplane_workers values (?, ?)').run('wrk_a', Date.now());
    alive.close();
    const args = ['health', '--sqlite', sender.file];
    const { code, stdout } = await run(args);
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('not ok: a delivery has been due for too long'),
    ]);
    expect(stdout).toMatch(/overdue {3}10 min/);
    expect((await run([...args, '--max-age', '3600'])).code).toBe(0);
  });

  it('ends with 1 on a schema that is behind, and leaves it there', async () => {
    const file = await newFile();
    new Database(file).exec('create table of_the_application (id)').close();
    const { code, stdout } = await run(['health', '--json', '--sqlite', file]);
    expect([code, ...jsonLines(stdout)]).toEqual([
      1,
      expect.objectContaining({ reason: 'migration_required' }),
    ]);
    expect((await sqliteStore({ file }).schema()).version).toBe(0);
  });

  it('is no worker itself', async () => {
    const sender = await startSender({ started: false });
    await sender.health();
    await run(['health', '--sqlite', sender.file]);
    expect(await sender.health()).toMatchObject({ workerCount: 0 });
  });
});
