import express from 'express';
import { adminMiddleware } from '../../lib/express/index.js';
import { bearerToken } from '../../lib/index.js';
import { onCleanUp } from '../support/clean-up.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { runScript } from '../support/snippets.js';
import { eventually } from '../support/wait-for.js';

/** The one that the README has its readers replace. */
export const ADMIN_TOKEN = 'replace-this-token';
export const asAdmin = { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } };
export const authorize = bearerToken(ADMIN_TOKEN);

/** What the README's server listens at. */
export const ORIGIN = 'http://127.0.0.1:3000';

export interface LiveServer {
  url: string;
  sender: TestSender;
  endpointId: string;
  messageId: string;
  /** Sends a message that fails once, for good unless it is replayed. */
  sendInVain(): Promise<string>;
}

let live: Promise<LiveServer> | undefined;

/** The application that the commands of the pages are for, with an endpoint and a message that failed at it once. */
export function liveServer(): Promise<LiveServer> {
  live ??= startLiveServer();
  return live;
}

async function startLiveServer(): Promise<LiveServer> {
  const receiver = await startReceiver('file');
  const sender = await startSender({ lifetime: 'file' });
  await sender.tenants.setMetadata('acme', {});
  const tenantId = 'globex';
  const endpoint = await sender.endpoints.create({
    tenantId,
    url: receiver.url('/'),
    retry: { delaysSeconds: [] },
  });
  async function sendInVain(): Promise<string> {
    receiver.answer('/', 500, 200);
    const { id } = await sender.send({ tenantId, type: 'invoice.paid', data: { id: 'inv_1' } });
    await eventually(async () => expect((await sender.messages.get(id)).status).toBe('failed'));
    return id;
  }
  const messageId = await sendInVain();
  const app = express().use('/admin', adminMiddleware(sender, { authorize }));
  const { servers, urls } = await runScript('app.listen(3000);', {}, { app });
  onCleanUp('file', 'receiver', () => new Promise((closed) => servers[0]!.close(closed)));
  return { url: urls[0]!, sender, endpointId: endpoint.id, messageId, sendInVain };
}
