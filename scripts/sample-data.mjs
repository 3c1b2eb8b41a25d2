// Data to look at: three tenants, endpoints in every state, and some days of messages, among them what somebody would
// send who wants to break the page.
import { setTimeout as wait } from 'node:timers/promises';

const DAYS = 4;
const STEP_MS = 2 * 3_600_000;
const PER_STEP = 60;
const SETTLE_LIMIT_MS = 3000;

const HOSTILE = [
  '<script>document.title = "script ran"</script>',
  '<img src=x onerror="document.title=1">',
  '"><svg/onload=alert(1)>',
  "'; DROP TABLE messages; --",
  '{{7*7}} #{7*7} <%= 7*7 %>',
  '\u202Etxt.exe \u200B\uFEFF zero width, and right to left',
  'Z\u0351\u036B\u0343a\u0321\u034Al\u030Ag\u0322o\u0321, 日本語, العربية, 👩‍👩‍👧‍👦',
  'a'.repeat(900),
  'javascript:alert(1)',
];

const TYPES = [
  'order.created',
  'order.paid',
  'order.updated',
  'invoice.paid',
  'invoice.failed',
  'user.created',
];

const ENDPOINTS = [
  { path: '/answers/200', tenantId: 'acme', description: 'Everything that happens at acme' },
  { path: '/flaky', tenantId: 'acme', description: 'Fails now and then', types: ['order.*'], retry: 'short' },
  {
    path: '/answers/500',
    tenantId: 'acme',
    description: 'Fails always',
    types: ['invoice.*'],
    retry: 'short',
  },
  { path: '/answers/200/paused', tenantId: 'acme', description: 'Paused by hand', pause: true },
  { path: '/answers/410', tenantId: 'globex', description: 'Gone: it asked not to be called again' },
  { path: '/answers/204', tenantId: 'globex', description: 'Everything that happens at globex' },
  {
    path: '/answers/200/filtered',
    tenantId: 'globex',
    description: 'Large orders',
    filter: { dataPath: 'size', equals: 'large' },
    rateLimit: { perSecond: 50 },
    headers: { 'x-api-key': 'a secret of the receiver' },
  },
  {
    path: `/answers/200/${'long/'.repeat(60)}`,
    tenantId: 'initech',
    description: HOSTILE[0],
    metadata: { note: HOSTILE[1], '<b>key</b>': HOSTILE.slice(2) },
  },
  { path: '/answers/302', tenantId: null, description: 'Of no tenant; redirects, which counts as a failure' },
];

/**
 * Does nothing where there is data already.
 * @param travel sets how far the clock of the sender is behind, in milliseconds
 * @returns whether there was none
 */
export async function seed(sender, { receiverUrl, travel, days = DAYS, perStep = PER_STEP }) {
  const { endpoints: found } = await sender.endpoints.list({ limit: 1 });
  if (found.length > 0) return false;
  const random = randomNumbers(7);
  const pick = (list) => list[Math.floor(random() * list.length)];
  travel(days * 86_400_000);
  const paused = [];
  for (const { path, retry, pause, ...settings } of ENDPOINTS) {
    const endpoint = await sender.endpoints.create({
      ...settings,
      url: receiverUrl + path,
      ...(retry && { retry: { delaysSeconds: [60, 3600], jitter: 0 } }),
    });
    if (pause) paused.push(endpoint.id);
  }
  for (let behind = days * 86_400_000; behind > 0; behind -= STEP_MS) {
    travel(behind);
    // Business has its hours.
    const share = 0.4 + 0.6 * Math.abs(Math.sin((behind / 86_400_000) * Math.PI));
    const messages = Array.from({ length: Math.ceil(perStep * share) }, (_, index) => ({
      type: pick(TYPES),
      tenantId: pick(['acme', 'acme', 'acme', 'globex', 'globex', 'initech', null]),
      data: {
        id: `ord_${behind / STEP_MS}_${index}`,
        size: pick(['small', 'large']),
        total: Math.round(random() * 100_000) / 100,
        note: random() < 0.1 ? pick(HOSTILE) : 'as usual',
        lines: Array.from({ length: Math.floor(random() * 4) }, (_, line) => ({
          sku: `sku-${line}`,
          count: 1,
        })),
      },
    }));
    await sender.sendMany(messages);
    await settled(sender);
    if (behind <= STEP_MS * 3) for (const id of paused.splice(0)) await sender.endpoints.disable(id);
  }
  travel(0);
  await sender.send({ type: 'user.created', tenantId: 'initech', data: HOSTILE });
  return true;
}

/** Waits until nothing is due: what is owed later, or held, is left. */
async function settled(sender) {
  const until = Date.now() + SETTLE_LIMIT_MS;
  while (Date.now() < until) {
    await wait(20);
    const { oldestPendingAge } = await sender.health();
    if (oldestPendingAge === null) return;
  }
}

/** The same ones at every start. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
