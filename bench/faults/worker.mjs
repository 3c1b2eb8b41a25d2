import { createClock, onMessage, orders, say } from './child.mjs';
import { openStore } from './open-store.mjs';
import { createSender } from './package.mjs';
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

const sender = createSender({
  ...given.settings,
  store: watched(await openStore(given)),
  now: createClock(given.clock),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  endpointHooks: () => ({ headers: () => ({ 'x-worker': given.name }) }),
  logger: SILENT,
});
sender.on('error', ({ error, during }) => void say({ kind: 'trouble', error: `${during}: ${error}` }));

onMessage('stop', async ({ drainMs }) => {
  cutting = drainMs === 0;
  await sender.stop({ drainMs });
  process.disconnect();
});

await sender.start();
await say({ kind: 'started' });
