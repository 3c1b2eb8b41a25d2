// A process that delivers from a schema of a database: it says `ready` when its store is open, begins when it is told
// to, and ends when its parent lets go of it.
import { createSender } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';

const [, , connectionString, schema] = process.argv;
const sender = createSender({
  store: postgresStore({ connectionString, schema }),
  allowHttp: true,
  allowTargets: ['127.0.0.1'],
  logger: { error: console.error, warn() {}, info() {}, debug() {} },
});
process.on('disconnect', () => process.exit(0));
process.on('message', () => void sender.start());
await sender.endpoints.list();
process.send('ready');
