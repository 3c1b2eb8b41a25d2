import { useRef, useState } from 'preact/hooks';
import { isAdminClientError } from '../../client/index.js';
import { useAccess } from './session.js';

export interface Action {
  busy: boolean;
  /** Null when the last one went well, or none was started. */
  error: unknown;
  /** Runs one at a time; what is asked for meanwhile is dropped. */
  start(work: () => Promise<unknown>): Promise<void>;
  clear(): void;
}

/** Something that a visitor has asked for: whether it is under way, and what came of it. */
export function useAction(): Action {
  const { session } = useAccess();
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: null });
  const running = useRef(false);
  return {
    ...state,
    clear: () => setState({ busy: running.current, error: null }),
    async start(work) {
      if (running.current) return;
      running.current = true;
      setState({ busy: true, error: null });
      try {
        await work();
        setState({ busy: false, error: null });
      } catch (error) {
        if (isAdminClientError(error) && error.code === 'FORBIDDEN' && /read-only/.test(error.message)) {
          session.noteReadOnly();
        }
        setState({ busy: false, error });
      } finally {
        running.current = false;
      }
    },
  };
}
