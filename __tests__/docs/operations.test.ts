import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { register } from 'prom-client';
import { health } from '../../lib/admin/schemas/health.js';
import { COMMANDS } from '../../lib/cli/run.js';
import { AUDITED_OPERATIONS } from '../../lib/model/audit.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { codeSpans, membersOf, readPage, tableRows } from './page.js';
import { type Check, pageContract } from './page-contract.js';

const page = readPage('docs/operations.md');

describe('docs/operations.md', () => {
  pageContract(page, { checks: checks() });

  it('lists every event, with what it tells', () => {
    expect(tableRows(page, 'event').map(([event]) => event)).toEqual(
      membersOf('lib/sender/events.ts', 'SenderEvents'),
    );
  });

  it('lists every metric, with its type and labels, and alerts on no other', async () => {
    const sender = await startSender({ lifetime: 'test' });
    const receiver = await startReceiver();
    receiver.answer('/', 410);
    await sender.endpoints.create({ url: receiver.url('/') });
    await sender.send({ type: 'a', data: 1 });
    await eventually(async () => expect(await sender.metrics()).toContain('reason="gone"} 1'));
    const text = await sender.metrics();
    const listed = tableRows(page, 'metric').map(([name, type, labels]) => ({
      name: name!,
      type,
      labels: labels!.split(' ').filter(Boolean).sort(),
    }));
    const told = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => ({
      name: name!,
      type,
      labels: labelsOf(text, name!),
    }));
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
    expect(listed.sort(byName)).toEqual(told.sort(byName));
    const mentioned = page.text.match(/\bhookplane_[a-z_]+/g)!;
    expect(mentioned.filter((name) => !told.some((metric) => metric.name === name))).toEqual([]);
  });

  it('lists every command of the program', () => {
    expect(tableRows(page, 'command').map(([name]) => name)).toEqual(COMMANDS.map(({ name }) => name));
  });

  it('names every reason of a health record', () => {
    const listed = tableRows(page, 'reason').map(([reason]) => reason);
    expect(listed.sort()).toEqual([...health.shape.reason.unwrap().options].sort());
    for (const field of Object.keys(health.shape)) expect(page.text).toMatch(new RegExp(`\\b${field}\\b`));
  });

  it('names every operation that is recorded', () => {
    const spans = codeSpans(page);
    expect(AUDITED_OPERATIONS.filter((operation) => !spans.includes(operation))).toEqual([]);
  });

  it('names every field of an audit entry', () => {
    const record = codeSpans(page).find((code) => code.startsWith('{ id, at,'))!;
    expect(record.match(/\w+/g)).toEqual(membersOf('lib/model/audit.ts', 'AuditEntry'));
  });
});

function labelsOf(text: string, metric: string): string[] {
  const samples = text.match(new RegExp(`^${metric}(?:_bucket|_sum|_count)?\\{.*\\}`, 'gm')) ?? [];
  const labels = samples.flatMap((sample) => [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label!));
  return [...new Set(labels)].filter((label) => label !== 'le').sort();
}

function checks(): Check[] {
  return [
    {
      mark: "sender.on('attempt'",
      async run({ sender, log }) {
        const receiver = await startReceiver();
        receiver.answer('/', 500, 200, 410);
        await sender.endpoints.create({ url: receiver.url('/'), retry: { delaysSeconds: [0] } });
        await sender.start();
        await sender.send({ type: 'a', data: 1 });
        await eventually(() => expect(log.info).toHaveBeenCalledTimes(3));
        await sender.send({ type: 'b', data: 1, expiresAt: new Date(Date.now() + 60_000).toISOString() });
        await eventually(() => expect(log.error).toHaveBeenCalled());
        expect(log.info.mock.calls).toContainEqual([
          'a: failed',
          { attempt: expect.objectContaining({ responseStatus: 500 }) },
        ]);
        expect(log.info.mock.calls).toContainEqual([expect.stringMatching(/^Failing since .* well again/)]);
        expect(log.error.mock.calls).toContainEqual([`Paused (gone): ${receiver.url('/')}`]);
      },
    },
    {
      mark: 'prom-client',
      async run() {
        expect(await register.metrics()).toContain('hookplane_store_up 1');
      },
    },
    {
      mark: 'forCaller',
      run: ({ values }) =>
        expect(values.entries).toMatchObject([
          {
            operation: 'endpoints.create',
            actor: { id: 'user_17', name: 'Ada' },
            tenantId: 'acme',
            requestId: 'req_9',
            changes: ['url'],
          },
        ]),
    },
    {
      mark: 'HOOKPLANE_SECRET_KEYS',
      async prepare() {
        const bare = await startSender({ started: false });
        await bare.endpoints.create({ url: 'https://example.com/' });
        await bare.stop();
        const keys = [randomBytes(32).toString('base64'), randomBytes(32).toString('hex')];
        Object.assign(process.env, { HOOKPLANE_SECRET_KEYS: keys.join(',') });
        return { 'hookplane.sqlite': bare.file };
      },
      run: ({ values }) => expect(values).toMatchObject({ resealed: 1, unopened: 0 }),
    },
    {
      mark: 'database.backup',
      async prepare() {
        const sender = await startSender({ started: false });
        await sender.send({ type: 'a', data: 1 });
        return { 'hookplane.sqlite': sender.file };
      },
      run() {
        const copy = new Database('backup.sqlite', { readonly: true });
        expect(copy.prepare('select count(*) as count from hookplane_messages').get()).toEqual({ count: 1 });
        copy.close();
      },
    },
  ];
}
