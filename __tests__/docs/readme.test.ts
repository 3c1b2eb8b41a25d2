import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Authorize, createAdminHandler, type Sender } from '../../lib/index.js';
import { HOOKPLANE_SENDER } from '../../lib/nest/index.js';
import { close, listen } from '../express/http.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { asAdmin, liveServer, ORIGIN } from './live-server.js';
import { codeSpans, readPage, root, tableRows } from './page.js';
import { type Check, pageContract } from './page-contract.js';
import { SHOP_TYPES, shopCheck } from './shop.js';

const CI_TOKEN = 'the-token-of-the-build-server';
const ISSUER = 'https://issuer.example.com';

const page = readPage('README.md');

describe('README.md', () => {
  beforeAll(() => Object.assign(process.env, { CI_TOKEN }));

  pageContract(page, {
    checks: checks(),
    declared: {
      ...SHOP_TYPES,
      createApp: "(sender: import('hookplane').Sender) => import('express').Express",
      test: '(title: string, run: () => Promise<void>) => void',
      expect: '(actual: unknown) => { toMatchObject(expected: unknown): void }',
    },
  });

  it('begins with an application of at most 30 lines', () => {
    const [first] = page.snippets;
    expect(first!.language).toBe('js');
    expect(first!.code.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
  });

  it('says of each answer of an authorizer what it leads to', async () => {
    const rows = tableRows(page, 'it answers').flatMap(([answers, status]) =>
      answers!.split(/, (?![^{]*\})/).map((answer) => ({ answer, status: status! })),
    );
    for (const { answer, status } of rows) {
      const decision = new Function(`return (${answer})`)();
      const statusOf = await asked(() => decision);
      const get = await statusOf('GET', '/endpoints');
      expect([answer, status === 'as asked' ? 200 : Number(status)]).toEqual([answer, get]);
    }
    expect(rows.length).toBeGreaterThan(10);
  });

  it('names every authorizer there is', () => {
    const folder = join(root, 'lib/admin/authorizers');
    const functions = readdirSync(folder).map((file) =>
      file.replace('.ts', '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
    );
    const exported = functions.filter((name) =>
      Object.hasOwn(jest.requireActual('../../lib/index.js'), name),
    );
    const listed = tableRows(page, 'authorizer').map(([call]) => call!.replace(/\(.*/, ''));
    expect(listed.sort()).toEqual([...exported, 'fromSession', 'fromUser'].sort());
  });

  it('names the entry points of the package', () => {
    const imported = page.snippets.flatMap(({ code }) => code.match(/'hookplane[\w/]*'/g) ?? []);
    expect(new Set(imported).size).toBe(5);
    expect(codeSpans(page)).toContain('hookplane/express');
  });

  it('has a test for every page of docs', () => {
    for (const file of readdirSync(join(root, 'docs')).filter((name) => name !== 'images')) {
      expect([file, existsSync(join(__dirname, file.replace(/\.md$/, '.test.ts')))]).toEqual([file, true]);
      expect(page.text).toContain(`](docs/${file})`);
    }
  });
});

/** Asks a control plane with this authorizer, as a host that has authenticated a user. */
async function asked(authorize: Authorize) {
  const sender = await startSender({ started: false });
  const handler = createAdminHandler(sender, { authorize, onError: () => {} });
  return async (
    method: string,
    path: string,
    { user, headers = {} }: { user?: object; headers?: Record<string, string> } = {},
  ) => {
    const req = { user, headers, socket: { remoteAddress: '127.0.0.1' } };
    const response = await handler(new Request(`${ORIGIN}${path}`, { method, headers }), { host: { req } });
    return response.status;
  };
}

function checks(): Check[] {
  const tests: (() => Promise<void>)[] = [];
  let tokenOf: (claims: Record<string, string>) => Promise<string>;
  let failedId: string;
  return [
    {
      mark: '// server.mjs',
      async run({ urls: [url], servers: [server], sender, signal }) {
        const order = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"id":1}' };
        const placed = await fetch(`${url}/orders`, order);
        expect([placed.status, await placed.json()]).toEqual([
          202,
          { messageId: expect.stringMatching(/^msg_/) },
        ]);
        expect((await fetch(`${url}/admin/health`, asAdmin)).status).toBe(200);
        expect((await fetch(`${url}/admin/health`)).status).toBe(401);
        signal('SIGTERM');
        await once(server!, 'close');
        await eventually(async () =>
          expect(await sender.health()).toMatchObject({ reason: 'store_unavailable' }),
        );
      },
    },
    {
      mark: 'anyOf(',
      async run({ values }) {
        const statusOf = await asked(values.authorize as Authorize);
        const operator = { role: 'operator', orgId: 'shop' };
        const customer = { role: 'customer', orgId: 'acme' };
        const ci = { authorization: `Bearer ${CI_TOKEN}` };
        expect(await statusOf('GET', '/endpoints')).toBe(401);
        expect(await statusOf('POST', '/keys/symmetric', { user: operator })).toBe(201);
        expect(await statusOf('DELETE', '/tenants/globex', { user: operator })).toBe(404);
        expect(await statusOf('DELETE', '/tenants/globex', { user: customer })).toBe(403);
        expect(await statusOf('GET', '/endpoints', { headers: ci })).toBe(200);
        expect(await statusOf('POST', '/keys/symmetric', { headers: ci })).toBe(403);
        // The trap that the text speaks of.
        expect(await statusOf('GET', '/endpoints', { user: { role: 'customer' } })).toBe(401);
        // What it says of requests of other sites.
        const headers = { cookie: 'session=1', 'sec-fetch-site': 'cross-site' };
        expect(await statusOf('POST', '/keys/symmetric', { user: operator, headers })).toBe(401);
        expect(await statusOf('GET', '/endpoints', { user: operator, headers })).toBe(200);
      },
    },
    {
      mark: 'jwt(',
      async prepare() {
        const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
        const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: '1' }] });
        const server = createServer((_, res) => void res.end(keys));
        onCleanUp('test', 'receiver', () => close(server));
        const issuer = `http://127.0.0.1:${await listen(server)}`;
        tokenOf = (claims) =>
          new SignJWT(claims)
            .setProtectedHeader({ alg: 'ES256', kid: '1' })
            .setIssuer(issuer)
            .setAudience('https://app.example.com/admin')
            .setExpirationTime('1m')
            .sign(privateKey);
        return { [ISSUER]: issuer };
      },
      async run({ values }) {
        const byToken = await asked(values.byToken as Authorize);
        const bearer = async (claims: Record<string, string>) => ({
          headers: { authorization: `Bearer ${await tokenOf(claims)}` },
        });
        expect(await byToken('GET', '/endpoints', await bearer({ org_id: 'acme' }))).toBe(200);
        expect(await byToken('DELETE', '/tenants/globex', await bearer({ org_id: 'acme' }))).toBe(403);
        expect(await byToken('GET', '/endpoints', await bearer({}))).toBe(403);
        expect(await byToken('GET', '/endpoints')).toBe(401);
        const byCertificate = await asked(values.byCertificate as Authorize);
        const verified = { 'ssl-client-s-dn': 'CN=billing,O=Acme', 'ssl-client-verify': 'SUCCESS' };
        expect(await byCertificate('GET', '/endpoints', { headers: verified })).toBe(200);
        expect(await byCertificate('DELETE', '/tenants/globex', { headers: verified })).toBe(403);
        const unverified = { ...verified, 'ssl-client-verify': 'NONE' };
        expect(await byCertificate('GET', '/endpoints', { headers: unverified })).toBe(401);
      },
    },
    {
      mark: "'tenants.delete'",
      async run({ values }) {
        const statusOf = await asked(values.authorize as Authorize);
        const user = { id: 'ada', admin: true };
        expect(await statusOf('GET', '/endpoints')).toBe(401);
        expect(await statusOf('GET', '/endpoints', { user })).toBe(200);
        expect(await statusOf('DELETE', '/tenants/acme', { user })).toBe(403);
        expect(await statusOf('GET', '/endpoints', { user: { id: 'bob', admin: false } })).toBe(403);
      },
    },
    {
      mark: "idempotencyKey: 'inv_1-paid'",
      async run({ values: { message }, sender }) {
        const { id } = message as { id: string };
        const { type, tenantId, payload } = await sender.messages.get(id);
        const again = { type, tenantId, data: payload!.data, idempotencyKey: 'inv_1-paid' };
        expect(await sender.send(again)).toMatchObject({ id, duplicate: true });
      },
    },
    shopCheck('db.transaction()', 'PostgreSQL'),
    shopCheck('sendSync', 'SQLite'),
    {
      mark: 'HookplaneModule.forRoot(',
      async run({ values }) {
        const app = await NestFactory.create(values.AppModule as Type, { logger: false });
        onCleanUp('test', 'receiver', () => app.close());
        await app.listen(0, '127.0.0.1');
        const url = await app.getUrl();
        expect((await fetch(`${url}/admin/health`, asAdmin)).status).toBe(200);
        expect((await fetch(`${url}/admin/health`)).status).toBe(401);
        expect(await (app.get(HOOKPLANE_SENDER) as Sender).health()).toMatchObject({ workerCount: 1 });
      },
    },
    {
      mark: 'createAdminHandler',
      run: ({ values }) => expect((values.response as Response).status).toBe(200),
    },
    {
      mark: 'createTestSender',
      variables: {
        test: (_title: string, run: () => Promise<void>) => tests.push(run),
        createApp,
      },
      async run() {
        expect(tests).toHaveLength(1);
        await tests[0]!();
      },
    },
    {
      mark: 'createAdminClient',
      async prepare() {
        failedId = await (await liveServer()).sendInVain();
      },
      async run() {
        const { sender } = await liveServer();
        await eventually(async () =>
          expect(await sender.messages.get(failedId)).toMatchObject({ status: 'delivered' }),
        );
        const { attempts } = await sender.messages.attempts(failedId);
        expect(attempts.map(({ trigger }) => trigger)).toEqual(['send', 'replay']);
      },
    },
    {
      mark: "sender.on('dead'",
      async run({ sender, log }) {
        const receiver = await startReceiver();
        receiver.answer('/', 410);
        await sender.endpoints.create({ url: receiver.url('/'), retry: { delaysSeconds: [] } });
        await sender.send({ type: 'a', data: 1 });
        await sender.start();
        await eventually(() => expect(log.error).toHaveBeenCalledTimes(2));
        expect(log.error.mock.calls).toContainEqual(['A delivery was given up', expect.anything()]);
        expect(log.error.mock.calls).toContainEqual([`Paused (gone): ${receiver.url('/')}`]);
      },
    },
  ];
}

/** The application of the first snippet, as far as its test is about it. */
function createApp(sender: Sender) {
  const app = express();
  app.post('/orders', express.json(), async (req, res) => {
    const message = await sender.send({ type: 'order.created', tenantId: 'acme', data: req.body });
    res.status(202).json({ messageId: message.id });
  });
  return app;
}
