import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type AdminClient, createAdminClient, isAdminClientError } from '../../client/index.js';
import type { CallerRecord } from '../../model/caller.js';

/** With the control plane that it is for: another dashboard of this origin may ask another one. */
const tokenKey = (adminUrl: string): string => `hookplane.token ${new URL(adminUrl, document.baseURI).href}`;

export type SessionState =
  | { kind: 'starting' }
  /** `refused`: a token was sent, and was not taken. */
  | { kind: 'signed-out'; refused: boolean }
  | { kind: 'denied'; reason: string }
  | { kind: 'failed'; error: unknown }
  | { kind: 'ready'; caller: CallerRecord };

export interface Session {
  readonly client: AdminClient;
  /** Whether a token of this tab is used, which can be forgotten; a cookie of the application cannot. */
  hasToken(): boolean;
  state(): SessionState;
  subscribe(listener: () => void): () => void;
  start(): Promise<void>;
  signIn(token: string): Promise<void>;
  signOut(): void;
  /** The control plane has said that the caller may only read. */
  noteReadOnly(): void;
}

/**
 * The visitor's own access. Requests go with the cookie of the application first; where that is not enough, with a token
 * that is kept for the tab.
 */
export function createSession(adminUrl: string): Session {
  const key = tokenKey(adminUrl);
  let token = readToken(key);
  let state: SessionState = { kind: 'starting' };
  const listeners = new Set<() => void>();

  const client = createAdminClient({
    baseUrl: adminUrl,
    headers: () => (token === null ? {} : { authorization: `Bearer ${token}` }),
    async fetch(url, init) {
      const sent = token;
      const response = await fetch(url, init);
      // A session that ends while the page is open. What was sent with another token says nothing about this one.
      if (response.status === 401 && sent === token && state.kind === 'ready') signedOut(token !== null);
      return response;
    },
  });

  function become(next: SessionState): void {
    state = next;
    for (const listener of [...listeners]) listener();
  }

  function signedOut(refused: boolean): void {
    token = null;
    writeToken(key, null);
    become({ kind: 'signed-out', refused });
  }

  async function start(): Promise<void> {
    const asked = token;
    become({ kind: 'starting' });
    try {
      const caller = await client.caller();
      if (asked === token) become({ kind: 'ready', caller });
    } catch (error) {
      if (asked !== token) return;
      const code = isAdminClientError(error) ? error.code : null;
      if (code === 'UNAUTHORIZED') signedOut(token !== null);
      else if (code === 'FORBIDDEN') become({ kind: 'denied', reason: (error as Error).message });
      else become({ kind: 'failed', error });
    }
  }

  return {
    client,
    hasToken: () => token !== null,
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start,
    signIn(given) {
      token = given;
      writeToken(key, given);
      return start();
    },
    signOut: () => signedOut(false),
    noteReadOnly() {
      if (state.kind !== 'ready' || state.caller.readOnly) return;
      become({ kind: 'ready', caller: { ...state.caller, readOnly: true } });
    },
  };
}

/** Where the browser keeps nothing, the token lasts as long as the page. */
function readToken(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

function writeToken(key: string, token: string | null): void {
  try {
    if (token === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, token);
  } catch {
    // See readToken.
  }
}

export interface Access {
  client: AdminClient;
  caller: CallerRecord;
  session: Session;
  /** Sees every tenant. */
  isOperator: boolean;
  canWrite: boolean;
}

export const AccessContext = createContext<Access | null>(null);

export function useAccess(): Access {
  const access = useContext(AccessContext);
  if (!access) throw new Error('Views are shown to those who have signed in only');
  return access;
}
