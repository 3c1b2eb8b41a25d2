import type { Filter, Message, MessageDetail } from '../../../client/index.js';
import { matchesFilter } from '../../../model/filter.js';
import { matchesChannels, matchesTypes } from '../../../model/types.js';
import { formatNumber } from '../format.js';
import { useLive } from '../live.js';
import { href } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { ErrorNotice, Loading } from './states.js';

const MESSAGES = 100;
/** Payloads are read one by one. */
const PAYLOADS = 20;
const TYPES_SHOWN = 12;

interface RecentCheckProps {
  /** Whose messages; undefined is the caller's own, null those without a tenant. */
  tenantId: string | null | undefined;
  types: readonly string[] | null;
  channels: readonly string[] | null;
  filter: Filter | null;
}

/** What of the latest messages an endpoint of these settings would have got. */
export function RecentCheck({ tenantId, types, channels, filter }: RecentCheckProps) {
  const { client } = useAccess();
  const recent = useLive(
    `recent:${JSON.stringify(tenantId)}`,
    async (signal) => {
      const request = { limit: MESSAGES, ...(tenantId && { tenantId }) };
      const { messages } = await client.messages.list(request, { signal });
      return tenantId === null ? messages.filter((message) => message.tenantId === null) : messages;
    },
    15_000,
  );
  const matched = recent.data?.filter((message) => wants(message, types, channels)) ?? [];
  return (
    <section class="card" aria-label={t.liveCheck}>
      <div class="card-head">
        <h2>{t.liveCheck}</h2>
      </div>
      <div class="card-body stack-small" aria-live="polite">
        {recent.error !== undefined && <ErrorNotice error={recent.error} retry={recent.reload} />}
        {!recent.data && recent.error === undefined && <Loading lines={4} />}
        {recent.data?.length === 0 && <p class="muted">{t.noRecent}</p>}
        {recent.data && recent.data.length > 0 && (
          <>
            <p>{t.matchCount(formatNumber(matched.length), formatNumber(recent.data.length))}</p>
            <TypeList messages={recent.data} types={types} channels={channels} />
            {filter !== null && matched.length > 0 && (
              <PayloadCheck messages={matched.slice(0, PAYLOADS)} filter={filter} />
            )}
          </>
        )}
      </div>
    </section>
  );
}

function wants(
  message: Message,
  types: readonly string[] | null,
  channels: readonly string[] | null,
): boolean {
  return matchesTypes(types, message.type) && matchesChannels(channels, message.channels);
}

function TypeList({
  messages,
  types,
  channels,
}: {
  messages: readonly Message[];
  types: readonly string[] | null;
  channels: readonly string[] | null;
}) {
  const counts = new Map<string, { count: number; matched: number }>();
  for (const message of messages) {
    const entry = counts.get(message.type) ?? { count: 0, matched: 0 };
    entry.count++;
    if (wants(message, types, channels)) entry.matched++;
    counts.set(message.type, entry);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b.count - a.count);
  return (
    <ul class="check-list">
      {sorted.slice(0, TYPES_SHOWN).map(([type, { count, matched }]) => (
        <li key={type}>
          <Verdict yes={matched > 0} />
          <span class={`mono clip ${matched > 0 ? '' : 'no'}`}>{type}</span>
          <span class="muted number">
            {formatNumber(matched)}/{formatNumber(count)}
          </span>
        </li>
      ))}
      {sorted.length > TYPES_SHOWN && (
        <li class="muted">{t.moreTypes(formatNumber(sorted.length - TYPES_SHOWN))}</li>
      )}
    </ul>
  );
}

function PayloadCheck({ messages, filter }: { messages: readonly Message[]; filter: Filter }) {
  const { client } = useAccess();
  const ids = messages.map(({ id }) => id);
  const read = useLive<MessageDetail[]>(
    `payloads:${ids.join()}`,
    async (signal) => {
      const details: MessageDetail[] = [];
      for (const id of ids) details.push(await client.messages.get(id, { signal }));
      return details;
    },
    null,
  );
  if (read.error !== undefined) return <ErrorNotice error={read.error} retry={read.reload} />;
  if (!read.data) return <Loading lines={2} />;
  const checked = read.data.map((message) => ({
    message,
    passes: message.payload !== null && matchesFilter(filter, message.payload.data),
  }));
  const passed = checked.filter(({ passes }) => passes).length;
  return (
    <>
      <p>{t.filterCount(formatNumber(passed), formatNumber(checked.length))}</p>
      <ul class="check-list">
        {checked.slice(0, TYPES_SHOWN).map(({ message, passes }) => (
          <li key={message.id}>
            <Verdict yes={passes} />
            <a class={`mono clip ${passes ? '' : 'no'}`} href={href(['messages', message.id])}>
              {message.type} {message.id}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

function Verdict({ yes }: { yes: boolean }) {
  return (
    <span class={yes ? 'yes' : 'no'}>
      <span aria-hidden="true">{yes ? '✓' : '–'}</span>
      <span class="visually-hidden">{yes ? t.matches : t.matchesNot}</span>
    </span>
  );
}
