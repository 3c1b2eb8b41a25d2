import { join } from 'node:path';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { HOOKPLANE_SENDER, HookplaneModule, InjectSender } from '../../lib/nest/index.js';
import type { HookplaneModuleOptions } from '../../lib/nest/options.js';
import type { Sender } from '../../lib/sender/sender.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { stacks, startApp } from './kit.js';

const allow = () => true;
const MEMORY = { file: ':memory:' };
const LOOPBACK = { allowHttp: true, allowTargets: ['127.0.0.1'], pollIntervalMs: 10 };

describe.each(stacks)('HookplaneModule in $name', (stack) => {
  const { common, hookplane } = stack.kit;

  it('gives the sender to the providers of every module', async () => {
    @common.Injectable()
    class Orders {
      constructor(@hookplane.InjectSender() readonly sender: Sender) {}
    }
    @common.Module({ providers: [Orders] })
    class OrdersModule {}
    const sender = await startSender({ started: false });
    @common.Module({ imports: [OrdersModule, hookplane.HookplaneModule.forRoot({ sender })] })
    class AppModule {}
    const { app } = await startApp(stack, AppModule);
    expect(app.get(Orders, { strict: false }).sender).toBe(sender);
    expect(app.get(hookplane.HOOKPLANE_SENDER, { strict: false })).toBe(sender);
  });

  it('gives the sender only to those that import it when it is not global', async () => {
    @common.Injectable()
    class Orders {
      constructor(@hookplane.InjectSender() readonly sender: Sender) {}
    }
    const sender = await startSender({ started: false });
    const dynamic = hookplane.HookplaneModule.forRoot({ sender, isGlobal: false });
    @common.Module({ imports: [dynamic], providers: [Orders] })
    class Near {}
    @common.Module({ imports: [Near] })
    class WithNear {}
    @common.Module({ providers: [Orders] })
    class Far {}
    @common.Module({ imports: [dynamic, Far] })
    class WithFar {}
    expect((await startApp(stack, WithNear)).app.get(Orders, { strict: false }).sender).toBe(sender);
    await expect(startApp(stack, WithFar)).rejects.toThrow(/can't resolve dependencies of the Orders/);
  });

  it('takes its options from a factory and what is injected into it', async () => {
    @common.Injectable()
    class Config {
      token = 'Bearer 1';
    }
    @common.Module({ providers: [Config], exports: [Config] })
    class ConfigModule {}
    const root = hookplane.HookplaneModule.forRootAsync({
      imports: [ConfigModule],
      inject: [Config],
      useFactory: async ({ token }: Config) => ({
        store: sqliteStore(MEMORY),
        path: 'hooks',
        authorize: (request) => request.headers.get('authorization') === token,
      }),
    });
    const { url } = await startApp(stack, root);
    const status = async (authorization: string) =>
      (await fetch(`${url}/hooks/endpoints`, { headers: { authorization } })).status;
    expect([await status('Bearer 1'), await status('Bearer 2')]).toEqual([200, 403]);
  });

  it('makes a sender of the options of createSender, which delivers until the application is closed', async () => {
    const receiver = await startReceiver();
    const file = join(await temporaryFolder(), 'hookplane.sqlite');
    const root = hookplane.HookplaneModule.forRoot({ store: sqliteStore({ file }), ...LOOPBACK });
    const { app } = await startApp(stack, root);
    const sender = app.get<Sender>(hookplane.HOOKPLANE_SENDER, { strict: false });
    await sender.endpoints.create({ url: receiver.url('/slow') });
    const held = receiver.hold('/slow');
    const { id } = await sender.send({ type: 'order.created', data: {} });
    await receiver.waitFor(1, '/slow');
    const closing = app.close();
    held.release();
    await closing;
    const later = await startSender({ file, started: false });
    expect(await later.messages.get(id)).toMatchObject({ status: 'delivered' });
    expect(await later.health()).toMatchObject({ workerCount: 0 });
    await expect(sender.send({ type: 'order.created', data: {} })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  it('starts and stops a sender that it is given', async () => {
    const sender = await startSender({ started: false });
    const { app } = await startApp(stack, hookplane.HookplaneModule.forRoot({ sender }));
    expect((await sender.health()).workerCount).toBe(1);
    await app.close();
    const other = await startSender({ file: sender.file, started: false });
    expect((await other.health()).workerCount).toBe(0);
  });

  it('leaves the delivering to others with start: false, and sends and answers all the same', async () => {
    const sender = await startSender({ started: false });
    const root = hookplane.HookplaneModule.forRoot({ sender, start: false, authorize: allow });
    const { url } = await startApp(stack, root);
    await sender.send({ type: 'order.created', data: {} });
    const { messages } = (await (await fetch(`${url}/admin/messages`)).json()) as { messages: unknown[] };
    expect([messages.length, (await sender.health()).workerCount]).toEqual([1, 0]);
  });

  it('does not wait longer than drainMs for attempts under way', async () => {
    const receiver = await startReceiver();
    receiver.hold('/never');
    const sender = await startSender({ started: false });
    const { app } = await startApp(stack, hookplane.HookplaneModule.forRoot({ sender, drainMs: 0 }));
    await sender.endpoints.create({ url: receiver.url('/never') });
    const { id } = await sender.send({ type: 'order.created', data: {} });
    await receiver.waitFor(1, '/never');
    await app.close();
    const later = await startSender({ file: sender.file, started: false });
    expect(await later.messages.get(id)).toMatchObject({ status: 'pending' });
  });

  it('lets no application start whose store cannot be opened', async () => {
    const file = join(await temporaryFolder(), 'missing', 'folder', 'hookplane.sqlite');
    const root = hookplane.HookplaneModule.forRoot({ store: sqliteStore({ file }) });
    await expect(startApp(stack, root)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it("writes to the application's log unless it is given a logger", async () => {
    const log = { log: jest.fn(), error: jest.fn(), warn: jest.fn() };
    const logger = { info: jest.fn(), error: jest.fn(), warn: jest.fn(), debug: jest.fn() };
    const warnOf = async (options: Partial<HookplaneModuleOptions>) => {
      const root = hookplane.HookplaneModule.forRoot({
        store: sqliteStore(MEMORY),
        secretKey: 'ab'.repeat(32),
        ...options,
      } as HookplaneModuleOptions);
      const { url } = await startApp(stack, root, { logger: log });
      await fetch(`${url}/admin/endpoints`);
    };
    // Nest has its own to say there: of a busy machine, that a module takes long.
    const ours = () => log.warn.mock.calls.filter(([, context]) => context === 'Hookplane');
    await warnOf({});
    expect(ours()).toEqual([
      [expect.stringContaining('no authorize callback: every request is refused'), 'Hookplane'],
    ]);
    await warnOf({ logger });
    expect([ours().length, logger.warn.mock.calls.length]).toEqual([1, 1]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['sender must be one that createSender made', { sender: undefined }],
    ['sender must be one that createSender made', { sender: {} }],
    ['store has no effect beside sender', { sender: { forTenant: allow } }],
    ['path must be false or a literal path', { path: '/' }],
    ['path must be false or a literal path', { path: '/admin/*' }],
    ['path must be false or a literal path', { path: '/:tenant' }],
    ['path must be false or a literal path', { path: '/a/../b' }],
    ['path must be false or a literal path', { path: true }],
    ['useGlobalPrefix must be a boolean', { useGlobalPrefix: 'api' }],
    ['start must be a boolean', { start: 'no' }],
    ['drainMs must be a number of milliseconds', { drainMs: -1 }],
    ['maxBodyBytes', { maxBodyBytes: 0 }],
    ['basePath: is not an option', { basePath: '/admin' }],
  ])('says %s of %p', async (message, options) => {
    const given = { store: sqliteStore(MEMORY), ...options } as HookplaneModuleOptions;
    const starting = startApp(stack, hookplane.HookplaneModule.forRoot(given));
    await expect(starting).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(starting).rejects.toThrow(message);
  });
});

describe('HookplaneModule', () => {
  it('lets a test put another sender in place of its own', async () => {
    const sender = await startSender({ started: false });
    const testing = await Test.createTestingModule({
      imports: [HookplaneModule.forRoot({ store: sqliteStore({ file: '/nowhere/hookplane.sqlite' }) })],
    })
      .overrideProvider(HOOKPLANE_SENDER)
      .useValue(sender)
      .compile();
    onCleanUp('test', 'receiver', () => testing.close());
    await testing.init();
    expect((await sender.health()).workerCount).toBe(1);
  });

  it('works in an application without a server', async () => {
    const receiver = await startReceiver();
    @Injectable()
    class Orders {
      constructor(@InjectSender() readonly sender: Sender) {}
    }
    @Module({
      imports: [HookplaneModule.forRoot({ store: sqliteStore(MEMORY), ...LOOPBACK })],
      providers: [Orders],
    })
    class WorkerModule {}
    const context = await NestFactory.createApplicationContext(WorkerModule, { logger: false });
    onCleanUp('test', 'receiver', () => context.close());
    const { sender } = context.get(Orders);
    await sender.endpoints.create({ url: receiver.url('/a') });
    await sender.send({ type: 'order.created', data: {} });
    await receiver.waitFor(1, '/a');
    await context.close();
    expect(await sender.health()).toMatchObject({ ok: false, reason: 'store_unavailable' });
  });
});
