// npm run bench: every measurement, one after the other, since they would disturb each other side by side.
import { run as controlPlane } from './control-plane.mjs';
import { run as delivery } from './delivery.mjs';
import { run as fairness } from './fairness.mjs';
import { run as postgresWorkers } from './postgres-workers.mjs';
import { run as replay } from './replay.mjs';

await delivery();
await controlPlane();
await fairness();
await replay();
await postgresWorkers();
