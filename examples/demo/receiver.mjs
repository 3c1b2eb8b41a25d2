// The other side: in real life your customers' servers. It verifies every request, and /acme/billing answers 500 to
// the first two requests for each message.
import { createServer } from 'node:http';
import { verifySignature } from 'hookplane';

const FAILURES = { 'acme/billing': 2 };

/** @param secretsOf the secrets that the receiver at a path was told, undefined for a path that is none */
export function createReceiver(secretsOf) {
  const failures = new Map();
  return createServer(async (request, response) => {
    const answer = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    try {
      const name = request.url.slice(1);
      const secrets = secretsOf(name);
      if (!secrets) return answer(404, { signature: 'not looked at' });
      // The bytes as they came: JSON that is parsed and written again has other bytes, and no signature fits them.
      const body = Buffer.concat(await request.toArray());
      let id;
      try {
        ({ id } = verifySignature({ headers: request.headers, body, secrets }));
      } catch (error) {
        return answer(401, { signature: `NOT verified (${error.code ?? error.message})` });
      }
      // During a rotation there are two: by the new secret, and by the one before.
      const count = request.headers['webhook-signature'].split(' ').length;
      const signature = count === 1 ? 'verified' : `verified (one of ${count})`;
      const failed = failures.get(id) ?? 0;
      if (failed < (FAILURES[name] ?? 0)) {
        failures.set(id, failed + 1);
        return answer(500, { signature, error: 'out of order, try again' });
      }
      answer(200, { signature });
    } catch {
      request.destroy();
    }
  });
}
