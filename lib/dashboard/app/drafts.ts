import { useEffect, useRef, useState } from 'preact/hooks';
import { useAccess } from './session.js';

/** What was being typed when the access ended, for the same caller to go on with: in memory, so it ends with the tab. */
const kept = new Map<string, unknown>();

export function forgetDrafts(): void {
  kept.clear();
}

/**
 * The state of a form. It outlasts an access that ends, but not a view that is left.
 * @param key of which form
 * @param withoutSecrets what of it may be kept
 */
export function useDraft<T>(
  key: string,
  begin: () => T,
  withoutSecrets: (draft: T) => T = (draft) => draft,
): [T, (change: Partial<T>) => void] {
  const { session } = useAccess();
  const [draft, setDraft] = useState<T>(() => (kept.get(key) as T | undefined) ?? begin());
  const latest = useRef(draft);
  latest.current = draft;
  useEffect(() => {
    kept.delete(key);
    return () => {
      if (session.state().kind !== 'ready') kept.set(key, withoutSecrets(latest.current));
    };
  }, []);
  return [draft, (change) => setDraft((now) => ({ ...now, ...change }))];
}
