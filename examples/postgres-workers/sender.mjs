// What all processes of the application have in common: the database, and what may be delivered to.
import { createSender } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';

export const sender = createSender({
  store: postgresStore({ connectionString: process.env.DATABASE_URL }),
  // For a receiver on the same network. Those of your customers are public and have https: leave both out.
  allowHttp: true,
  allowTargets: process.env.ALLOW_TARGETS?.split(','),
});
