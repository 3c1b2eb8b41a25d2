import type { Position } from '../model/page.js';
import type { TenantScope } from './outbox.js';

export interface PageOf<Row> {
  rows: Row[];
  /** Where the page ended, be it short or empty, or null when nothing comes after it. */
  next: Position | null;
}

/**
 * Lists of what has ids of `createId` are in the order of those, which is that of the times they are made of: messages by
 * when they were created, attempts by when they began, entries of the audit log by when the change was made.
 */
export interface PageQuery {
  tenant: TenantScope;
  after: Position | null;
  limit: number;
}
