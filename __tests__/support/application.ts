import type { Server } from 'node:http';
import type { AdminHandlerOptions } from '../../lib/admin/handler.js';
import * as expressEntry from '../../lib/express/index.js';
import * as mainEntry from '../../lib/index.js';
import { type Lifetime, onCleanUp } from './clean-up.js';
import { temporaryFolder } from './sender.js';
import { runScript, type ScriptRun } from './snippets.js';

export interface ApplicationSetting {
  /** What it gets where it makes a sender. @default its own, whose files are in a folder that it runs in */
  sender?: mainEntry.Sender;
  /** Options of the control plane that go before those it gives. */
  admin?: AdminHandlerOptions;
  /** What an import gives, beside the package and those that are installed. */
  modules?: Readonly<Record<string, unknown>>;
  /** What it may use without declaring it. */
  variables?: Readonly<Record<string, unknown>>;
  /** When its servers are closed, and its own sender is stopped. @default 'test' */
  lifetime?: Lifetime;
}

const home = process.cwd();

/** Runs an application against the sources of the package, as its users have written it. */
export async function runApplication(code: string, setting: ApplicationSetting = {}): Promise<ScriptRun> {
  const { sender, modules, variables = {}, lifetime = 'test' } = setting;
  process.chdir(await temporaryFolder(lifetime));
  onCleanUp(lifetime, 'sender', async () => process.chdir(home));
  const run = await runScript(code, { ...packageModules(setting), ...modules }, variables);
  for (const server of run.servers) {
    onCleanUp(lifetime, 'receiver', async () => {
      server.close();
      (server as Server).closeAllConnections?.();
    });
  }
  const made = run.values.sender as mainEntry.Sender | undefined;
  if (made && made !== sender) onCleanUp(lifetime, 'sender', () => made.stop());
  return run;
}

function packageModules({ sender, admin }: ApplicationSetting): Record<string, unknown> {
  return {
    hookplane: {
      ...mainEntry,
      createSender: sender ? () => sender : mainEntry.createSender,
      createAdminHandler: (own: mainEntry.Sender, options?: AdminHandlerOptions) =>
        mainEntry.createAdminHandler(own, { ...options, ...admin }),
    },
    'hookplane/express': {
      ...expressEntry,
      adminMiddleware: (own: mainEntry.Sender, options?: expressEntry.AdminMiddlewareOptions) =>
        expressEntry.adminMiddleware(own, { ...options, ...admin }),
    },
  };
}
