import { useRef, useState } from 'preact/hooks';

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
        setState({ busy: false, error });
      } finally {
        running.current = false;
      }
    },
  };
}
