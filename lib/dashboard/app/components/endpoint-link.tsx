import type { Endpoint } from '../../../client/index.js';
import { recall, remember, useLive } from '../live.js';
import { href } from '../query-state.js';
import { useAccess } from '../session.js';

/** What lists have read is known without asking again. */
export function noteEndpoints(endpoints: readonly Endpoint[]): void {
  for (const endpoint of endpoints) remember(keyOf(endpoint.id), endpoint);
}

function keyOf(id: string): string {
  return `endpoint:${id}`;
}

/** An endpoint by where it sends, which is what people know it by; deleted ones have their id alone. */
export function EndpointLink({ id, className = '' }: { id: string; className?: string }) {
  const { client } = useAccess();
  const { data } = useLive(
    keyOf(id),
    (signal) => {
      const known = recall<Endpoint>(keyOf(id));
      return known ? Promise.resolve(known) : client.endpoints.get(id, { signal });
    },
    null,
  );
  return (
    <a href={href(['endpoints', id])} class={`clip ${className}`} title={data?.url ?? id}>
      {data?.url ?? id}
    </a>
  );
}
