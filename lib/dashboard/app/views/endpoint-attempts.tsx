import type { Attempt, AttemptStatus } from '../../../client/index.js';
import { AttemptItem } from '../components/attempt-item.js';
import { FilterBar, hasAny, SelectFilter, TimeFilter } from '../components/filters.js';
import { EmptyList, ListFoot, OlderNotice, WaitingRows } from '../components/list.js';
import { Loaded } from '../components/states.js';
import { usePages } from '../paging.js';
import type { Route } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';

const FILTERS = ['status', 'since', 'until'];

/** What was sent to one endpoint, newest first. */
export function EndpointAttempts({ id, route: { query, key } }: { id: string; route: Route }) {
  const { client } = useAccess();
  const text = (name: string) => query.get(name) || undefined;
  const cursor = query.get('cursor');
  const pages = usePages<Attempt>(
    key,
    async (page, signal) => {
      const request = {
        ...page,
        status: text('status') as AttemptStatus | undefined,
        since: text('since'),
        until: text('until'),
      };
      const { attempts, nextCursor } = await client.endpoints.attempts(id, request, { signal });
      return { rows: attempts, nextCursor };
    },
    { from: cursor, everyMs: 4000 },
  );
  return (
    <>
      <FilterBar query={query} names={FILTERS}>
        <SelectFilter
          name="status"
          label={t.status}
          query={query}
          options={[
            ['succeeded', t.attemptStatus.succeeded],
            ['failed', t.attemptStatus.failed],
          ]}
        />
        <TimeFilter name="since" label={t.from} query={query} />
        <TimeFilter name="until" label={t.until} query={query} />
      </FilterBar>
      <OlderNotice cursor={cursor} />
      <section class="card" aria-label={t.attempts}>
        <Loaded data={pages.rows} error={pages.error} reload={pages.reload} lines={9}>
          {(attempts) => (
            <>
              <WaitingRows pages={pages} />
              {attempts.length === 0 ? (
                <EmptyList filtered={hasAny(query, FILTERS)} title={t.noAttempts} text={t.noAttemptsText} />
              ) : (
                <ol class="timeline">
                  {attempts.map((attempt) => (
                    <AttemptItem key={attempt.id} attempt={attempt} withMessage />
                  ))}
                </ol>
              )}
              <ListFoot pages={pages} count={attempts.length} />
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}
