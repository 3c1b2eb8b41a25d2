// A worker process: it delivers what any process has sent. Run as many as you like, on any number of machines.
import { sender } from './sender.mjs';

sender.on('attempt', ({ attempt, messageType }) => {
  console.log(`${messageType} ${attempt.status} ${attempt.responseStatus ?? attempt.errorKind}`);
});
await sender.start();
// What is under way is ended, and what is not begun goes to the other workers.
process.once('SIGTERM', () => sender.stop());
