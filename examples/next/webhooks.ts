// The sender of a Next.js application, for all of its files to import.
import { createSender, type Sender, sqliteStore } from 'hookplane';

// Next.js loads a file anew when it changes during development, and may load it into several bundles of one process:
// a sender that is kept outside of them is the same one everywhere.
const kept = globalThis as { webhooks?: Sender };
kept.webhooks ??= createSender({ store: sqliteStore({ file: 'hookplane.sqlite' }) });

export const sender = kept.webhooks;
