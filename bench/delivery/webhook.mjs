// What every contender but hookplane does by hand: a signed POST of one message, and when it was sent.
import { createHmac, randomBytes } from 'node:crypto';
import { Agent } from 'undici';

const TEXT = 'x'.repeat(900);
export const TYPE = 'bench.sent';

/** The data of a message of 1 KiB. */
export const dataOf = (sentAt) => ({ sentAt, text: TEXT });

/** Milliseconds, to be compared between processes. */
export const now = () => performance.timeOrigin + performance.now();

/** Posts messages as Standard Webhooks says. */
export function createPoster(connections) {
  const agent = new Agent({ connections });
  const key = randomBytes(32);
  return {
    async post({ id, url, data }) {
      const { origin, pathname, search } = new URL(url);
      const timestamp = String(Math.floor(Date.now() / 1000));
      const body = Buffer.from(JSON.stringify({ type: TYPE, timestamp: new Date().toISOString(), data }));
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
      const started = performance.now();
      const response = await agent.request({
        origin,
        path: `${pathname}${search}`,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
        body,
      });
      const answer = await response.body.text();
      if (response.statusCode >= 300) throw new Error(`The receiver answered ${response.statusCode}`);
      return { status: response.statusCode, answer, durationMs: performance.now() - started };
    },
    close: () => agent.close(),
  };
}
