import { z } from 'zod';
import type { RateLimit } from './rate-limit.js';

export interface Tenant {
  /** The host application's own string. */
  id: string;
  rateLimit: RateLimit | null;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
}

/** 1–255 characters, none of them a control character. A lone surrogate would be stored as something else. */
export const tenantId = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must hold no control characters and no lone surrogates');

export function isTenantId(value: unknown): value is string {
  return tenantId.safeParse(value).success;
}
