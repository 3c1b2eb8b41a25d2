import { orders, say } from './child.mjs';
import { openStore } from './open-store.mjs';
import { createSender } from './package.mjs';
import { SILENT } from './settings.mjs';

const given = await orders();
const sender = createSender({
  store: await openStore(given),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  logger: SILENT,
});

const JOBS = {
  /** Reads something, for which the store is opened. */
  open: () => sender.endpoints.list(),
  /** All pages of it. */
  async replay({ request: { path, since, until } }) {
    const { endpoints } = await sender.endpoints.list();
    const { id: endpointId } = endpoints.find(({ url }) => new URL(url).pathname === path);
    const range = {
      endpointId,
      since: new Date(since).toISOString(),
      until: new Date(until).toISOString(),
      limit: 2,
    };
    let cursor;
    do {
      const page = await sender.replay({ ...range, ...(cursor ? { cursor } : {}) });
      cursor = page.nextCursor;
    } while (cursor);
  },
};

await say({ kind: 'started' });
await JOBS[given.job](given);
await sender.stop();
process.disconnect();
