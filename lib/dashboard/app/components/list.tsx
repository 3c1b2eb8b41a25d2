import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { formatNumber } from '../format.js';
import { whenInView } from '../in-view.js';
import type { Pages } from '../paging.js';
import { setQuery } from '../query-state.js';
import { t } from '../texts.js';
import { Loaded, State } from './states.js';

interface ListProps<Row> {
  pages: Pages<Row>;
  /** What the table is called. */
  label: string;
  /** The cells of the head. */
  head: ComponentChildren;
  row: (row: Row) => ComponentChildren;
  /** What is said where there is none. */
  empty: ComponentChildren;
}

/** A table of a list: it is read on when its end comes into view, or by its button. */
export function List<Row>({ pages, label, head, row, empty }: ListProps<Row>) {
  return (
    <Loaded data={pages.rows} error={pages.error} reload={pages.reload} lines={9}>
      {(rows) => (
        <>
          <WaitingRows pages={pages} />
          {rows.length === 0 ? (
            // Where the list goes on, the next page may have some.
            pages.loadMore === null && empty
          ) : (
            <table class="rows">
              <caption class="visually-hidden">{label}</caption>
              <thead>
                <tr>{head}</tr>
              </thead>
              <tbody>{rows.map(row)}</tbody>
            </table>
          )}
          <ListFoot pages={pages} count={rows.length} />
        </>
      )}
    </Loaded>
  );
}

/** Says how much has come since, and shows it when asked to. */
export function WaitingRows<Row>({ pages }: { pages: Pages<Row> }) {
  if (pages.waiting === 0) return null;
  return (
    <div class="waiting">
      <button
        type="button"
        class="button primary"
        onClick={() => {
          pages.showWaiting();
          scrollTo({ top: 0 });
        }}
      >
        {t.newRows(formatNumber(pages.waiting))}
      </button>
    </div>
  );
}

export function ListFoot<Row>({ pages, count }: { pages: Pages<Row>; count: number }) {
  const { loadMore, loadingMore, olderCursor } = pages;
  const foot = useRef<HTMLDivElement>(null);
  const more = loadMore !== null;
  // Anew whenever something has changed: an observer tells of an end that stays in view only once.
  useEffect(() => {
    if (!loadMore || loadingMore || pages.error !== undefined || !foot.current) return;
    return whenInView(foot.current, loadMore, '300px');
  }, [loadMore, loadingMore, pages.error]);

  if (olderCursor !== null) {
    return (
      <div class="list-foot">
        <button
          type="button"
          class="button"
          onClick={() => {
            setQuery({ cursor: olderCursor });
            scrollTo({ top: 0 });
          }}
        >
          {t.older}
        </button>
      </div>
    );
  }
  if (count === 0 && !more) return null;
  return (
    <div class="list-foot small" ref={foot} aria-live="polite">
      {more ? (
        <button type="button" class="button small" disabled={loadingMore} onClick={() => loadMore?.()}>
          {loadingMore ? t.loading : t.more}
        </button>
      ) : (
        t.endOfList(count, formatNumber(count))
      )}
    </div>
  );
}

/** Said where a list is empty: because there is nothing, or because of the filters. */
export function EmptyList({ filtered, title, text }: { filtered: boolean; title: string; text: string }) {
  return filtered ? (
    <State title={t.noMatch}>
      <p>{t.noMatchText}</p>
    </State>
  ) : (
    <State title={title}>
      <p>{text}</p>
    </State>
  );
}

/** The way back from a list that begins at a cursor. */
export function OlderNotice({ cursor }: { cursor: string | null }) {
  if (cursor === null) return null;
  return (
    <div class="notice">
      <div>{t.olderShown}</div>
      <button type="button" class="button small" onClick={() => setQuery({ cursor: null })}>
        {t.newest}
      </button>
    </div>
  );
}
