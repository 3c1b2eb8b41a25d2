// What bench/size.mjs asks of the control plane: every list with every filter and their combinations, and the single
// reads that a page of the dashboard makes.
import { BIG, bigEndpoint, MID, RARE_ACTOR, RARE_TYPE } from './size-fill.mjs';

const SCOPES = [
  { name: 'operator' },
  { name: 'operator, tenantId', query: { tenantId: BIG } },
  { name: 'bound to half', tenant: BIG },
  { name: 'bound to a fiftieth', tenant: MID },
];
const iso = (ms) => new Date(ms).toISOString();

/** Each way to set filters, of which one of each list of alternatives is taken. */
function combinations([first, ...others]) {
  if (!first) return [{}];
  return combinations(others).flatMap((rest) => first.map((filter) => ({ ...filter, ...rest })));
}

/** The middle half of the store's time. */
const range = ({ first, last }) => ({
  since: iso(first + (last - first) / 4),
  until: iso(last - (last - first) / 4),
});
const RANGE = [{}, { range: true }];

/** @returns cases: a path and a query for a store, whose middle page is asked for as well where it is a list */
export function cases() {
  const lists = [
    {
      path: '/messages',
      filters: [
        [{}, { type: 'type.3' }, { type: RARE_TYPE }, { type: ['type.1', 'type.2'] }],
        [
          {},
          { status: 'delivered' },
          { status: 'failed' },
          { status: 'pending' },
          { status: ['failed', 'unrouted'] },
        ],
        [{}, { endpointId: bigEndpoint }],
        RANGE,
      ],
    },
    { path: '/endpoints', filters: [[{}, { status: 'active' }, { status: 'paused' }]] },
    {
      path: `/endpoints/${bigEndpoint}/attempts`,
      filters: [[{}, { status: 'succeeded' }, { status: 'failed' }], RANGE],
      scopes: ['operator', 'bound to half'],
    },
    {
      path: ({ messageId }) => `/messages/${messageId}/attempts`,
      name: '/messages/:id/attempts',
      filters: [[{}, { status: 'succeeded' }, { status: 'failed' }]],
      scopes: ['operator', 'bound to half'],
    },
    {
      path: '/audit',
      filters: [
        [{}, { actor: 'actor_3' }, { actor: RARE_ACTOR }],
        [{}, { operation: 'send' }, { operation: 'endpoints.delete' }],
        [{}, { targetId: bigEndpoint }],
        RANGE,
      ],
    },
    { path: '/tenants', filters: [], scopes: ['operator', 'bound to half'] },
  ];
  const singles = ['/stats', '/stats?interval=minute', '/health', `/endpoints/${bigEndpoint}/stats`];
  return [
    ...lists.flatMap(({ path, name = path.replace(bigEndpoint, ':id'), filters, scopes }) =>
      SCOPES.filter((scope) => !scopes || scopes.includes(scope.name)).flatMap((scope) =>
        combinations(filters).flatMap((filter) =>
          ['first', 'middle'].map((page) => ({ route: name, path, scope, filter, page })),
        ),
      ),
    ),
    ...singles.flatMap((path) =>
      SCOPES.filter(({ query }) => !query).flatMap((scope) => {
        if (scope.tenant === MID && path.startsWith('/endpoints')) return [];
        return [{ route: path.replace(bigEndpoint, ':id'), path, scope, filter: {}, page: 'only' }];
      }),
    ),
  ];
}

/** The URL of a case for a store. */
export function urlOf({ path, scope, filter }, store, cursor) {
  const url = new URL(`http://localhost${typeof path === 'string' ? path : path(store)}`);
  const { range: hasRange, ...query } = { ...filter, ...scope.query };
  const all = { ...query, ...(hasRange && range(store)), ...(cursor && { cursor }) };
  for (const [name, value] of Object.entries(all)) {
    for (const each of [value].flat()) url.searchParams.append(name, each);
  }
  return url;
}

export function describe({ scope, filter, page }) {
  const named = Object.entries(filter).map(([name, value]) =>
    name === 'range' ? 'since+until' : `${name}=${[value].flat()}`,
  );
  return `${scope.name}: ${named.join(' ').replaceAll(bigEndpoint, 'one') || 'all'}, ${page}`;
}
