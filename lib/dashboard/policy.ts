import type { DashboardSettings } from './options.js';

/**
 * The headers of every answer. They replace those that helmet has set under the same names: its policy allows inline
 * styles, and has browsers ask for `https:` where there is none.
 */
export function securityHeaders({
  adminOrigin,
  frameAncestors,
}: Pick<DashboardSettings, 'adminOrigin' | 'frameAncestors'>): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${adminOrigin ?? "'self'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ')}`,
  ];
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...frameOptions(frameAncestors),
  };
}

/** For browsers that know no `frame-ancestors`; it cannot name other origins. */
function frameOptions(frameAncestors: readonly string[]): Record<string, string> {
  if (frameAncestors.length === 0) return { 'x-frame-options': 'DENY' };
  return frameAncestors.every((source) => source === "'self'") ? { 'x-frame-options': 'SAMEORIGIN' } : {};
}
