import express from 'express';
import request from 'supertest';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { openApiDocument } from '../../lib/admin/openapi/document.js';
import { adminMiddleware } from '../../lib/express/index.js';
import { expectError, expectOwnHeaders, METRICS_TYPE } from './expectations.js';
import { plantTenant, plantWorker } from './planted.js';
import { answerOf, openPlane, requestOf } from './plane.js';

/** The names and labels of the samples. */
const seriesIn = (text: string) =>
  text.split('\n').flatMap((line) => (/^hookplane_/.test(line) ? [line.split(' ')[0]!] : []));

describe('GET /metrics', () => {
  it('answers what the sender says, as the text format of Prometheus', async () => {
    const plane = await openPlane();
    await plantWorker(plane);
    await plantTenant(plane, 'acme', 'mark');
    const answer = await plane.ask('GET /metrics');
    expect(answer.status).toBe(200);
    expectOwnHeaders(answer, METRICS_TYPE);
    expect(answer.text).toBe(await plane.sender.metrics());
    expect(answer.text).toContain('\nhookplane_workers 1\n');
    expect(answer.text).toContain('\nhookplane_messages_sent_total 1\n');
  });

  it('answers a caller that is bound to a tenant its own outbox and nothing else', async () => {
    const plane = await openPlane();
    await plantWorker(plane);
    await plantTenant(plane, 'acme', 'mark');
    await plantTenant(plane, 'other', 'else');
    await plane.sender.send({
      tenantId: 'other',
      type: 'else.sent',
      data: { else: 'else' },
      channels: ['else'],
    });
    const { text } = await plane.ask('GET /metrics', { as: 'acme' });
    expect(seriesIn(text)).toEqual([
      'hookplane_store_up',
      'hookplane_outbox_depth',
      'hookplane_oldest_pending_age_seconds',
    ]);
    expect(text).toContain('\nhookplane_outbox_depth 1\n');
    expect((await plane.ask('GET /metrics', { as: 'other' })).text).toContain('\nhookplane_outbox_depth 2\n');
    expect((await plane.ask('GET /metrics')).text).toContain('\nhookplane_outbox_depth 3\n');
  });

  it('is authorized like every other route', async () => {
    const { sender } = await openPlane();
    const seen: unknown[] = [];
    const handler = createAdminHandler(sender, { authorize: (_, info) => seen.push(info) === 0 });
    expectError(await answerOf(handler(requestOf('GET /metrics'))), 'FORBIDDEN');
    expect(seen).toEqual([{ operation: 'metrics.get', params: {}, host: undefined }]);
  });

  it('answers while the store is away, and says so', async () => {
    const plane = await openPlane();
    await plane.sender.stop();
    for (const as of [undefined, 'acme']) {
      const { status, text } = await plane.ask('GET /metrics', as === undefined ? {} : { as });
      expect([status, text.match(/^hookplane_store_up .*$/m)?.[0]]).toEqual([200, 'hookplane_store_up 0']);
    }
  });

  it('is written whole through Express, with its type', async () => {
    const { sender } = await openPlane();
    const app = express().use('/admin', adminMiddleware(sender, { authorize: () => true }));
    const { text, headers } = await request(app).get('/admin/metrics').expect(200);
    expect(headers['content-type']).toBe(METRICS_TYPE);
    expect(seriesIn(text)).toEqual(seriesIn(await sender.metrics()));
  });

  it('is in the OpenAPI document as a text', () => {
    const { responses } = openApiDocument().paths['/metrics']!.get as {
      responses: Record<string, { content: Record<string, { schema: { type: string } }> }>;
    };
    expect(responses[200]!.content).toEqual({
      [METRICS_TYPE]: { schema: expect.objectContaining({ type: 'string' }) },
    });
  });
});
