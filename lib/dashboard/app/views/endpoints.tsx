import type { Endpoint } from '../../../client/index.js';
import { EndpointBadge } from '../components/badge.js';
import { noteEndpoints } from '../components/endpoint-link.js';
import { FilterBar, hasAny, SelectFilter, TextFilter } from '../components/filters.js';
import { Icon } from '../components/icons.js';
import { EmptyList, List, OlderNotice } from '../components/list.js';
import { PageHead } from '../components/page-head.js';
import { Sparkline } from '../components/sparkline.js';
import { usePages } from '../paging.js';
import { href, type Route } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';

const FILTERS = ['status', 'tenantId'];

/** Where messages go. */
export function EndpointsView({ route: { query, key } }: { route: Route }) {
  const { client, isOperator, canWrite } = useAccess();
  const status = query.get('status');
  const tenantId = query.get('tenantId') ?? undefined;
  const cursor = query.get('cursor');
  const pages = usePages<Endpoint>(
    key,
    async (page, signal) => {
      const request = { ...page, ...(status !== null && { status: status as Endpoint['status'] }), tenantId };
      const { endpoints, nextCursor } = await client.endpoints.list(request, { signal });
      noteEndpoints(endpoints);
      return { rows: endpoints, nextCursor };
    },
    { from: cursor, everyMs: 6000 },
  );
  return (
    <>
      <PageHead title={t.nav.endpoints} lead={t.endpointsLead}>
        {canWrite && (
          <a class="button primary" href={href(['endpoints', 'new'])}>
            <Icon name="plus" size={14} />
            {t.newEndpoint}
          </a>
        )}
      </PageHead>
      <div class="stack">
        <FilterBar query={query} names={FILTERS}>
          <SelectFilter
            name="status"
            label={t.status}
            query={query}
            options={[
              ['active', t.endpointStatus.active],
              ['paused', t.endpointStatus.paused],
            ]}
          />
          {isOperator && (
            <TextFilter name="tenantId" label={t.tenant} query={query} placeholder={t.exactId} />
          )}
        </FilterBar>
        <OlderNotice cursor={cursor} />
        <section class="card table-box">
          <List
            pages={pages}
            label={t.nav.endpoints}
            empty={
              <EmptyList filtered={hasAny(query, FILTERS)} title={t.noEndpoints} text={t.noEndpointsText} />
            }
            head={
              <>
                <th scope="col">{t.url}</th>
                <th scope="col" class="col-status">
                  {t.status}
                </th>
                <th scope="col" class="hide-medium">
                  {t.types}
                </th>
                {isOperator && (
                  <th scope="col" class="col-tenant hide-narrow">
                    {t.tenant}
                  </th>
                )}
                <th scope="col" class="col-spark hide-narrow">
                  {t.successRate}
                </th>
              </>
            }
            row={(endpoint) => (
              <tr key={endpoint.id}>
                <td>
                  <a class="row-link clip" href={href(['endpoints', endpoint.id])} title={endpoint.url}>
                    {endpoint.url}
                  </a>
                  {endpoint.description && <span class="clip small muted">{endpoint.description}</span>}
                </td>
                <td>
                  <EndpointBadge endpoint={endpoint} />
                </td>
                <td class="hide-medium">
                  <span class="clip mono muted" title={endpoint.types?.join(', ')}>
                    {endpoint.types?.join(', ') ?? t.everyType}
                  </span>
                </td>
                {isOperator && (
                  <td class="hide-narrow">
                    <span class="clip">{endpoint.tenantId ?? t.none}</span>
                  </td>
                )}
                <td class="hide-narrow">
                  <Sparkline endpointId={endpoint.id} />
                </td>
              </tr>
            )}
          />
        </section>
      </div>
    </>
  );
}
