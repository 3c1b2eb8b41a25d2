// The package under test: the built one, or sources that somebody has compiled into a folder. By `require`, which
// loads it in two thirds of the time: most of what a campaign does is starting processes.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const name = process.env.HOOKPLANE_PACKAGE ?? 'hookplane';

export const { createAdminHandler, createSender, sqliteStore } = require(name);
export const { postgresStore } = require(`${name}/postgres`);
