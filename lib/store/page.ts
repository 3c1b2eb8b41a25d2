import type { Position } from '../model/page.js';
import type { TenantScope } from './outbox.js';

export interface PageOf<Row> {
  rows: Row[];
  /** Where the page ended, be it short or empty, or null when nothing comes after it. */
  next: Position | null;
}

export interface PageQuery {
  tenant: TenantScope;
  after: Position | null;
  limit: number;
}
