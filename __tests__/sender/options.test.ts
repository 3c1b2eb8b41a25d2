import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createSender } from '../../lib/create-sender.js';
import { HookplaneError } from '../../lib/model/errors.js';
import { defaultLogger } from '../../lib/model/logger.js';
import { resolveOptions, type SenderOptions } from '../../lib/sender/options.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { onCleanUp } from '../support/clean-up.js';
import { temporaryFolder } from '../support/sender.js';

const store = sqliteStore({ file: ':memory:' });

function issuesOf(options: Record<string, unknown>): { path: string; message: string }[] {
  try {
    resolveOptions({ store, ...options } as SenderOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(HookplaneError);
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' });
    return [...((error as HookplaneError).issues ?? [])];
  }
  throw new Error('the options were taken');
}

/** Whatever logger is given comes back guarded. */
const LOGGER = {
  error: expect.any(Function),
  warn: expect.any(Function),
  info: expect.any(Function),
  debug: expect.any(Function),
};

test('a logger that throws harms nobody', () => {
  const throwing = () => {
    throw new Error('no disk for logs');
  };
  const logger = { error: throwing, warn: throwing, info: throwing, debug: throwing };
  expect(() => resolveOptions({ store, logger }).logger.warn('a warning')).not.toThrow();
});

test('what is left out has its default', () => {
  expect(resolveOptions({ store })).toEqual({
    store,
    concurrency: 128,
    pollIntervalMs: 1000,
    leaseMs: 60_000,
    timeoutMs: 15_000,
    retry: { delaysSeconds: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400], jitter: 0.1 },
    allowHttp: false,
    allowTargets: [],
    egressProxy: null,
    secretKey: [],
    endpointHooks: null,
    messageTtlSeconds: 30 * 86_400,
    retentionSeconds: 30 * 86_400,
    auditRetentionSeconds: 400 * 86_400,
    maxPendingAgeMs: 300_000,
    propagateTraceContext: false,
    logger: LOGGER,
    now: Date.now,
  });
});

test('what is given is taken', () => {
  const given = {
    store,
    concurrency: 1,
    pollIntervalMs: 10,
    leaseMs: 1001,
    timeoutMs: 1000,
    retry: { delaysSeconds: [0, 0.5], jitter: 1 },
    allowHttp: true,
    allowTargets: ['10.0.0.0/8'],
    secretKey: ['ab'.repeat(32), Buffer.alloc(32, 1)],
    endpointHooks: () => undefined,
    messageTtlSeconds: 1,
    retentionSeconds: 1,
    auditRetentionSeconds: null,
    maxPendingAgeMs: 1,
    propagateTraceContext: true,
    logger: defaultLogger,
    now: () => 7,
  };
  const { secretKey, ...resolved } = resolveOptions(given);
  expect({ ...resolved, secretKey: given.secretKey }).toEqual({
    ...given,
    egressProxy: null,
    logger: LOGGER,
    now: expect.any(Function),
  });
  expect(resolved.now()).toBe(7);
  const keys = secretKey.map(({ key }) => key.export().toString('hex'));
  expect(keys).toEqual(['ab'.repeat(32), '01'.repeat(32)]);
});

test('a clock that tells parts of milliseconds is taken for one that does not', () => {
  expect(resolveOptions({ store, now: () => 7.75 }).now()).toBe(7);
});

test('an option that is undefined is left out', () => {
  const options = { store, concurrency: undefined, retry: undefined, now: undefined };
  const resolved = resolveOptions(options as unknown as SenderOptions);
  expect(resolved).toEqual({ ...resolveOptions({ store }), logger: LOGGER });
});

test.each([
  ['concurrency', 0],
  ['concurrency', 1.5],
  ['concurrency', '8'],
  ['concurrency', 10_001],
  ['concurrency', Number.NaN],
  ['pollIntervalMs', 0],
  ['pollIntervalMs', 3_600_001],
  ['leaseMs', 999],
  ['timeoutMs', 0],
  ['timeoutMs', 60_001],
  ['timeoutMs', Number.POSITIVE_INFINITY],
  ['retry', []],
  ['retry', null],
  ['retry.delaysSeconds', { delaysSeconds: 5 }],
  ['retry.delaysSeconds.1', { delaysSeconds: [1, -1] }],
  ['retry.delaysSeconds.0', { delaysSeconds: [31 * 86_400] }],
  ['retry.delaysSeconds', { delaysSeconds: Array(51).fill(1) }],
  ['retry.jitter', { delaysSeconds: [], jitter: 1.1 }],
  ['retry.more', { delaysSeconds: [], more: 1 }],
  ['allowHttp', 'yes'],
  ['allowTargets', '10.0.0.0/8'],
  ['allowTargets.0', [7]],
  ['egressProxy', 'proxy:3128'],
  ['egressProxy', 'socks5://proxy:1080'],
  ['egressProxy', 'http://proxy:3128/path'],
  ['egressProxy', 'http://proxy:3128/?a=b'],
  ['egressProxy', 'http://proxy:99999'],
  ['egressProxy', 'http://us%zer@proxy:3128'],
  ['egressProxy', ' http://proxy:3128'],
  ['egressProxy', null],
  ['egressProxy', 7],
  ['egressProxy.url', {}],
  ['egressProxy.url', { url: 'proxy' }],
  ['egressProxy.resolve', { url: 'http://proxy', resolve: 'dns' }],
  ['egressProxy.port', { url: 'http://proxy', port: 3128 }],
  ['secretKey', 'secret'],
  ['secretKey', null],
  ['secretKey', []],
  ['secretKey.1', ['ab'.repeat(32), 'short']],
  ['secretKey.1', ['ab'.repeat(32), 'AB'.repeat(32)]],
  ['endpointHooks', {}],
  ['messageTtlSeconds', 0],
  ['messageTtlSeconds', 4e8],
  ['retentionSeconds', 0],
  ['retentionSeconds', 0.5],
  ['retentionSeconds', '30d'],
  ['retentionSeconds', 4e9],
  ['auditRetentionSeconds', 0],
  ['auditRetentionSeconds', Number.POSITIVE_INFINITY],
  ['maxPendingAgeMs', 0],
  ['propagateTraceContext', 'yes'],
  ['logger', 'console'],
  ['logger', null],
  ['now', 5],
  ['store', null],
  ['store', {}],
  ['concurency', 5],
])('%s of %j is refused, and named', (path, value) => {
  const [name] = path.split('.');
  expect(issuesOf({ [name!]: value })).toEqual([{ path, message: expect.any(String) }]);
});

test.each([
  ['http://proxy:3128', 'proxy', '3128', null],
  ['https://proxy/', 'proxy', '', null],
  ['http://[fd00::1]:3128', 'fd00::1', '3128', null],
  ['http://user@proxy:3128', 'proxy', '3128', 'user:'],
  ['http://us%40er:p%3Ass%2F@proxy:3128', 'proxy', '3128', 'us@er:p:ss/'],
])('the egress proxy %s', (url, hostname, port, credentials) => {
  const authorization = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const { egressProxy } = resolveOptions({ store, egressProxy: url });
  expect(egressProxy).toMatchObject({ hostname, port, authorization, resolve: 'proxy' });
  const given = { url, resolve: 'local' } as const;
  expect(resolveOptions({ store, egressProxy: given }).egressProxy).toEqual({
    ...egressProxy,
    resolve: 'local',
  });
});

test('the credentials of a proxy are in no error about it', () => {
  for (const url of ['ftp://n4me:s3cret@proxy', 'http://n4me:s3cret%@proxy', 'http://n4me:s3cret@proxy/a']) {
    for (const egressProxy of [url, { url }]) {
      expect(() => createSender({ store, egressProxy })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('s3cret') }),
      );
      expect(JSON.stringify(issuesOf({ egressProxy }))).not.toMatch(/s3cret|n4me/);
    }
  }
});

test('every wrong setting is named at once', () => {
  const issues = issuesOf({ concurrency: 0, allowHttp: 1, now: null, extra: true });
  expect(issues.map(({ path }) => path).sort()).toEqual(['allowHttp', 'concurrency', 'extra', 'now']);
});

test('a lease must outlast the deadline of an attempt, and both are named', () => {
  for (const options of [
    { leaseMs: 5000, timeoutMs: 5000 },
    { leaseMs: 15_000 },
    { leaseMs: 10_000, timeoutMs: 20_000 },
  ]) {
    expect(() => resolveOptions({ store, ...options })).toThrow(
      /leaseMs \(\d+\) must exceed timeoutMs \(\d+\)/,
    );
  }
  expect(resolveOptions({ store, leaseMs: 15_001 }).leaseMs).toBe(15_001);
});

test('a lease must outlast a statement of the store, and both are named', () => {
  const slow = { ...store, statementTimeoutMs: 20_000 };
  expect(() => resolveOptions({ store: slow, leaseMs: 20_000 })).toThrow(
    'leaseMs (20000) must exceed statementTimeoutMs of the store (20000)',
  );
  expect(resolveOptions({ store: slow, leaseMs: 20_001 }).leaseMs).toBe(20_001);
});

test('a target that cannot be read is refused at construction', () => {
  for (const target of ['10.0.0.0/33', 'http://example.com', '10.0.0.1/8', '*']) {
    expect(() => createSender({ store, allowTargets: [target] })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining(target) }),
    );
  }
});

test('the options of the caller are not changed', () => {
  const options = Object.freeze({ store, retry: Object.freeze({ delaysSeconds: [1], jitter: 0 }) });
  expect(() => createSender(options)).not.toThrow();
});

test('a sender without a store keeps a file in the working directory, from its first operation on', async () => {
  const folder = await temporaryFolder();
  const before = process.cwd();
  process.chdir(folder);
  onCleanUp('test', 'receiver', async () => process.chdir(before));
  const sender = createSender();
  onCleanUp('test', 'sender', () => sender.stop());
  expect(existsSync(join(folder, 'hookplane.sqlite'))).toBe(false);
  await sender.send({ type: 'a.b', data: 1 });
  expect(existsSync(join(folder, 'hookplane.sqlite'))).toBe(true);
});

test('without a logger, warnings and errors are process warnings, and the rest is silence', () => {
  const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  defaultLogger.error('The store failed', { inMs: 5 });
  defaultLogger.warn('An endpoint was paused');
  defaultLogger.info('nothing');
  defaultLogger.debug('nothing');
  const calls = emitted.mock.calls.map(([message, type]) => [message, type]);
  emitted.mockRestore();
  expect(calls).toEqual([
    ['The store failed {"inMs":5}', 'HookplaneWarning'],
    ['An endpoint was paused', 'HookplaneWarning'],
  ]);
});

test('a tenant to be bound to must have a name', () => {
  const sender = createSender({ store });
  for (const id of ['', null, undefined, 7, 'x'.repeat(256), 'a\nb', 'a\ud800']) {
    expect(() => sender.forTenant(id as string)).toThrow(
      expect.objectContaining({ code: 'TENANT_VALIDATION' }),
    );
  }
  expect(sender.forTenant('acme').tenantId).toBe('acme');
  expect(sender.tenantId).toBeNull();
});
