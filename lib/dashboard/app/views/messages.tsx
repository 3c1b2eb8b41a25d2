import type { Message, MessageStatus } from '../../../client/index.js';
import { MessageBadge } from '../components/badge.js';
import { FilterBar, hasAny, SelectFilter, TextFilter, TimeFilter } from '../components/filters.js';
import { EmptyList, List, OlderNotice } from '../components/list.js';
import { PageHead } from '../components/page-head.js';
import { ListTime } from '../components/time.js';
import { usePages } from '../paging.js';
import { href, listOf, type Route } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';

const STATUSES: readonly MessageStatus[] = ['pending', 'delivered', 'failed', 'unrouted'];
const FILTERS = ['type', 'status', 'endpointId', 'tenantId', 'since', 'until'];

/** What was sent, newest first. */
export function MessagesView({ route: { query, key } }: { route: Route }) {
  const { client, isOperator } = useAccess();
  const types = listOf(query.get('type'));
  const statuses = listOf(query.get('status')) as MessageStatus[];
  const text = (name: string) => query.get(name) ?? undefined;
  const cursor = query.get('cursor');
  const pages = usePages<Message>(
    key,
    async (page, signal) => {
      const request = {
        ...page,
        ...(types.length > 0 && { types }),
        ...(statuses.length > 0 && { statuses }),
        endpointId: text('endpointId'),
        tenantId: text('tenantId'),
        since: text('since'),
        until: text('until'),
      };
      const { messages, nextCursor } = await client.messages.list(request, { signal });
      return { rows: messages, nextCursor };
    },
    { from: cursor, everyMs: 4000 },
  );
  return (
    <>
      <PageHead title={t.nav.messages} lead={t.messagesLead} />
      <div class="stack">
        <FilterBar query={query} names={FILTERS}>
          <TextFilter name="type" label={t.type} query={query} placeholder="order.created, order.paid" />
          <SelectFilter
            name="status"
            label={t.status}
            query={query}
            options={STATUSES.map((status) => [status, t.messageStatus[status]] as const)}
          />
          <TextFilter name="endpointId" label={t.endpoint} query={query} placeholder="ep_…" />
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
            label={t.nav.messages}
            empty={
              <EmptyList filtered={hasAny(query, FILTERS)} title={t.noMessages} text={t.noMessagesText} />
            }
            head={
              <>
                <th scope="col">{t.type}</th>
                <th scope="col" class="col-status">
                  {t.status}
                </th>
                <th scope="col" class="hide-medium">
                  {t.id}
                </th>
                {isOperator && (
                  <th scope="col" class="col-tenant hide-narrow">
                    {t.tenant}
                  </th>
                )}
                <th scope="col" class="col-time">
                  {t.sent}
                </th>
              </>
            }
            row={(message) => (
              <tr key={message.id}>
                <td>
                  <a class="row-link clip mono" href={href(['messages', message.id])}>
                    {message.type}
                  </a>
                </td>
                <td>
                  <MessageBadge status={message.status} />
                </td>
                <td class="hide-medium">
                  <span class="clip mono muted">{message.id}</span>
                </td>
                {isOperator && (
                  <td class="hide-narrow">
                    <span class="clip">{message.tenantId ?? t.none}</span>
                  </td>
                )}
                <td>
                  <ListTime value={message.createdAt} />
                </td>
              </tr>
            )}
          />
        </section>
      </div>
    </>
  );
}
