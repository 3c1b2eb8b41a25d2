// A process that delivers from the file it is given, until its parent lets go of it.
import { createSender, sqliteStore } from 'hookplane';

const [, , file, settings] = process.argv;
const sender = createSender({ store: sqliteStore({ file }), ...JSON.parse(settings) });
process.on('disconnect', () => process.exit(0));
await sender.start();
process.send('started');
