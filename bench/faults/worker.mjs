import { createClock, onMessage, orders, say } from './child.mjs';
import { openStore } from './open-store.mjs';
import { createAdminHandler, createSender } from './package.mjs';
import { wrapMethod } from './points.mjs';
import { SILENT } from './settings.mjs';

const given = await orders();

let cutting = false;

/**
 * Says under which id it leases before it does, which leases others have taken from it, and what it gives back when it
 * is stopped short.
 */
function watched(store) {
  const named = wrapMethod(store, 'workers.beat', (beat) => async (id, now) => {
    await say({ kind: 'owner', owner: id });
    return beat(id, now);
  });
  return wrapMethod(named, 'outbox.turn', (turn) => async (asked) => {
    const result = await turn(asked);
    const overtaken = result.refused.map((index) => asked.settlements[index].messageId);
    if (overtaken.length > 0) await say({ kind: 'overtaken', messageIds: overtaken });
    if (cutting)
      await say({ kind: 'cutOff', keys: asked.release.map((key) => `${key.messageId} ${key.endpointId}`) });
    return result;
  });
}

const store = await openStore(given);
const sender = createSender({
  ...given.settings,
  store: watched(store),
  now: createClock(given.clock, store),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  endpointHooks: () => ({ headers: () => ({ 'x-worker': given.name }) }),
  logger: SILENT,
});
sender.on('error', ({ error, during }) => void say({ kind: 'trouble', error: `${during}: ${error}` }));

const admin = createAdminHandler(sender, { authorize: () => true, onError() {} });
async function get(path) {
  const response = await admin(new Request(`http://localhost${path}`));
  const { reason, errorCode } = await response.json();
  return [response.status, errorCode ?? reason].join(' ').trim();
}
onMessage('ask', async () => {
  const [health, list] = await Promise.all([get('/health'), get('/endpoints')]);
  await say({ kind: 'answered', health, list });
});

onMessage('stop', async ({ drainMs }) => {
  cutting = drainMs === 0;
  await sender.stop({ drainMs });
  process.disconnect();
});

await sender.start();
await say({ kind: 'started' });
