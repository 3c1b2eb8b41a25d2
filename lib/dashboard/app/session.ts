import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type AdminClient, createAdminClient, isAdminClientError } from '../../client/index.js';
import type { CallerRecord } from '../../model/caller.js';

/** With the control plane that it is for: another dashboard of this origin may ask another one. */
const tokenKey = (adminUrl: string): string => `hookplane.token ${new URL(adminUrl, document.baseURI).href}`;

export type SessionState =
  | { kind: 'starting' }
  | { kind: 'signed-out'; reason: SignedOutReason }
  | { kind: 'denied'; reason: string }
  | { kind: 'failed'; error: unknown }
  | { kind: 'ready'; caller: CallerRecord };

/** Nobody had signed in yet; a token was sent, and was not taken; the access ended; the visitor has ended it. */
export type SignedOutReason = 'none' | 'refused' | 'ended' | 'left';

export interface Session {
  readonly client: AdminClient;
  /** Whether a token of this tab is used, which can be forgotten; a cookie of the application cannot. */
  hasToken(): boolean;
  state(): SessionState;
  subscribe(listener: () => void): () => void;
  start(): Promise<void>;
  /** Looks who is asking now: with a cookie, another tab may have signed out or in meanwhile. */
  check(): Promise<void>;
  signIn(token: string): Promise<void>;
  signOut(): void;
}

/** By which one visitor of the tab is told from the next. */
export function identityOf({ tenantId, actor }: CallerRecord): string {
  return JSON.stringify([tenantId, actor?.id ?? null]);
}

/**
 * The visitor's own access. Requests go with the cookie of the application first; where that is not enough, with a token
 * that is kept for the tab.
 */
export function createSession(adminUrl: string): Session {
  const key = tokenKey(adminUrl);
  let token = readToken(key);
  let state: SessionState = { kind: 'starting' };
  let checking = false;
  const listeners = new Set<() => void>();

  const client = createAdminClient({
    baseUrl: adminUrl,
    headers: () => (token === null ? {} : { authorization: `Bearer ${token}` }),
    async fetch(url, init) {
      const sent = token;
      const response = await fetch(url, init);
      // What was sent with another token says nothing about this one.
      if (sent !== token || state.kind !== 'ready') return response;
      if (response.status === 401) signedOut('ended');
      // What is refused now was not when it was offered.
      if (response.status === 403) void check();
      return response;
    },
  });

  function become(next: SessionState): void {
    state = next;
    for (const listener of [...listeners]) listener();
  }

  function signedOut(reason: SignedOutReason): void {
    token = null;
    writeToken(key, null);
    become({ kind: 'signed-out', reason });
  }

  async function ask(): Promise<SessionState> {
    try {
      return { kind: 'ready', caller: await client.caller() };
    } catch (error) {
      const code = isAdminClientError(error) ? error.code : null;
      if (code === 'UNAUTHORIZED') return { kind: 'signed-out', reason: token === null ? 'none' : 'refused' };
      if (code === 'FORBIDDEN') return { kind: 'denied', reason: (error as Error).message };
      return { kind: 'failed', error };
    }
  }

  async function start(): Promise<void> {
    const asked = token;
    become({ kind: 'starting' });
    const found = await ask();
    if (asked !== token) return;
    if (found.kind === 'signed-out') signedOut(found.reason);
    else become(found);
  }

  async function check(): Promise<void> {
    if (checking || state.kind === 'starting') return;
    checking = true;
    const before = state;
    const found = await ask();
    checking = false;
    // Somebody has signed in or out meanwhile, or nothing is new: what is shown stays as it is.
    if (state !== before || found.kind === 'failed') return;
    if (found.kind === 'signed-out') {
      if (before.kind !== 'signed-out') signedOut(found.reason);
    } else if (JSON.stringify(found) !== JSON.stringify(before)) {
      become(found);
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
    check,
    signIn(given) {
      token = given;
      writeToken(key, given);
      return start();
    },
    signOut: () => signedOut('left'),
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
