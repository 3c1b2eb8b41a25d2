import type { AuditEntry } from '../../../client/index.js';
import { AUDITED_OPERATIONS } from '../../../model/audit.js';
import { FilterBar, hasAny, SelectFilter, TextFilter, TimeFilter } from '../components/filters.js';
import { EmptyList, List, OlderNotice } from '../components/list.js';
import { PageHead } from '../components/page-head.js';
import { ListTime } from '../components/time.js';
import { usePages } from '../paging.js';
import { href, type Route } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';

const FILTERS = ['actor', 'operation', 'targetId', 'tenantId', 'since', 'until'];

/** Who changed what. */
export function AuditView({ route: { query, key } }: { route: Route }) {
  const { client, isOperator } = useAccess();
  const text = (name: string) => query.get(name) || undefined;
  const cursor = query.get('cursor');
  const pages = usePages<AuditEntry>(
    key,
    async (page, signal) => {
      const request = {
        ...page,
        actor: text('actor'),
        operation: text('operation') as AuditEntry['operation'] | undefined,
        targetId: text('targetId'),
        tenantId: text('tenantId'),
        since: text('since'),
        until: text('until'),
      };
      const { entries, nextCursor } = await client.audit.list(request, { signal });
      return { rows: entries, nextCursor };
    },
    { from: cursor, everyMs: 6000 },
  );
  return (
    <>
      <PageHead title={t.nav.audit} lead={t.auditLead} />
      <div class="stack">
        <FilterBar query={query} names={FILTERS}>
          <TextFilter name="actor" label={t.actor} query={query} placeholder={t.exactId} />
          <SelectFilter
            name="operation"
            label={t.operation}
            query={query}
            options={AUDITED_OPERATIONS.map((name) => [name, t.operations[name]] as const)}
          />
          <TextFilter name="targetId" label={t.target} query={query} placeholder="ep_… msg_…" />
          {isOperator && (
            <TextFilter name="tenantId" label={t.tenant} query={query} placeholder={t.exactId} />
          )}
          <TimeFilter name="since" label={t.from} query={query} />
          <TimeFilter name="until" label={t.until} query={query} />
        </FilterBar>
        <OlderNotice cursor={cursor} />
        <section class="card table-box">
          <List
            pages={pages}
            label={t.nav.audit}
            empty={<EmptyList filtered={hasAny(query, FILTERS)} title={t.noAudit} text={t.noAuditText} />}
            head={
              <>
                <th scope="col">{t.operation}</th>
                <th scope="col">{t.target}</th>
                <th scope="col" class="hide-narrow">
                  {t.actor}
                </th>
                {isOperator && (
                  <th scope="col" class="col-tenant hide-medium">
                    {t.tenant}
                  </th>
                )}
                <th scope="col" class="col-time">
                  {t.time}
                </th>
              </>
            }
            row={(entry) => (
              <tr key={entry.id}>
                <td>
                  <span class="clip">{t.operations[entry.operation] ?? entry.operation}</span>
                  {entry.changes.length > 0 && (
                    <span class="clip small muted mono" title={entry.changes.join(', ')}>
                      {entry.changes.join(', ')}
                    </span>
                  )}
                </td>
                <td>
                  <Target id={entry.targetId} operation={entry.operation} />
                </td>
                <td class="hide-narrow">
                  <span class="clip">
                    {entry.actor ? (entry.actor.name ?? entry.actor.id) : t.unknownActor}
                  </span>
                  {entry.actor?.name && <span class="clip small muted">{entry.actor.id}</span>}
                </td>
                {isOperator && (
                  <td class="hide-medium">
                    <span class="clip">{entry.tenantId ?? t.none}</span>
                  </td>
                )}
                <td>
                  <ListTime value={entry.at} />
                </td>
              </tr>
            )}
          />
        </section>
      </div>
    </>
  );
}

function Target({ id, operation }: { id: string; operation: string }) {
  const path = operation.startsWith('tenants.')
    ? null
    : id.startsWith('ep_')
      ? 'endpoints'
      : id.startsWith('msg_')
        ? 'messages'
        : null;
  return path === null ? (
    <span class="clip">{id}</span>
  ) : (
    <a class="clip mono" href={href([path, id])}>
      {id}
    </a>
  );
}
