import type { HealthReason } from '../model/health.js';
import type { Command } from './command.js';
import { withSender } from './open-sender.js';
import { numberOf, textOf } from './options.js';
import { duration, grouped, jsonLine } from './text.js';

const REASONS: Readonly<Record<HealthReason, string>> = {
  store_unavailable: 'the store does not answer',
  migration_required: 'the schema is older or newer than this hookplane; see hookplane migrate --check',
  no_worker: 'no worker has given a sign of life for 15 s',
  overdue: 'a delivery has been due for too long',
};

export const healthCommand: Command = {
  name: 'health',
  summary: 'Say whether deliveries flow',
  usage: '[--tenant ID] [--max-age SECONDS]',
  description: `Answers what GET /health of the control plane does, from the store alone.

Exit code: 0 when deliveries flow, 1 when they do not.`,
  options: {
    tenant: { value: 'ID', help: 'Count what is owed to this tenant alone' },
    'max-age': {
      value: 'SECONDS',
      help: 'How long a delivery may be due before that is not well (default 300)',
    },
  },
  examples: ['hookplane health --sqlite hookplane.sqlite', 'hookplane health --json | jq .outboxDepth'],

  run(given) {
    const { values, io, json, paint } = given;
    const tenant = textOf(values, 'tenant');
    const maxAge = numberOf(values, 'max-age', { min: 1, max: 31_536_000 }) ?? 300;
    return withSender(
      given,
      async (sender) => {
        const health = await (tenant === undefined ? sender : sender.forTenant(tenant)).health();
        const { ok, outboxDepth, oldestPendingAge, workerCount, reason } = health;
        const number = (value: number | null) => (value === null ? 'unknown' : grouped(value));
        const age = oldestPendingAge === null ? 'none' : duration(oldestPendingAge);
        await io.stdout.write(
          json
            ? jsonLine(health)
            : [
                ok ? paint.good('ok') : paint.bad(`not ok: ${reason ? REASONS[reason] : 'unknown'}`),
                `owed      ${number(outboxDepth)}`,
                `overdue   ${outboxDepth === null ? 'unknown' : age}`,
                `workers   ${number(workerCount)}`,
                '',
              ].join('\n'),
        );
        return ok ? 0 : 1;
      },
      { maxPendingAgeMs: Math.round(maxAge * 1000) },
    );
  },
};
