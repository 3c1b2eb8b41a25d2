import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { IdentityPanel, Navigation } from './components/navigation.js';
import { PageHead } from './components/page-head.js';
import { Toasts } from './components/toast.js';
import { configuration } from './configuration.js';
import { forgetDrafts } from './drafts.js';
import { forgetAll } from './live.js';
import { dropJob } from './replay-job.js';
import { type Route, useRoute } from './query-state.js';
import { type Access, AccessContext, createSession, identityOf, type Session } from './session.js';
import { t } from './texts.js';
import { AuditView } from './views/audit.js';
import { EndpointEditView } from './views/endpoint-edit.js';
import { EndpointView } from './views/endpoint.js';
import { EndpointsView } from './views/endpoints.js';
import { Gate } from './views/gate.js';
import { KeysView } from './views/keys.js';
import { MessageView } from './views/message.js';
import { MessagesView } from './views/messages.js';
import { OverviewView } from './views/overview.js';
import { ReplayView } from './views/replay.js';
import { TenantsView } from './views/tenants.js';

const session = createSession(configuration.adminUrl);

/** The page: whoever has signed in gets the views. */
export function App() {
  const [state, setState] = useState(session.state);
  useEffect(() => {
    const stop = session.subscribe(() => setState(session.state()));
    void session.start();
    const look = () => void (document.hidden || session.check());
    document.addEventListener('visibilitychange', look);
    // Of two windows side by side both are seen all the time.
    addEventListener('focus', look);
    return () => {
      stop();
      document.removeEventListener('visibilitychange', look);
      removeEventListener('focus', look);
    };
  }, []);
  const caller = state.kind === 'ready' ? state.caller : null;
  const access = useMemo<Access | null>(
    () =>
      caller && {
        client: session.client,
        session,
        caller,
        isOperator: caller.tenantId === null,
        canWrite: !caller.readOnly,
      },
    [caller],
  );
  const identity = caller && identityOf(caller);
  const latest = useRef<string | null>(null);
  // While it is rendered, so that no view of the next visitor finds anything of the one before.
  if (identity !== null && identity !== latest.current) {
    latest.current = identity;
    forgetVisitor();
  }
  useEffect(() => {
    if (state.kind !== 'signed-out' && state.kind !== 'denied') return;
    // Whoever comes back after an access that has ended goes on with what was begun.
    if (state.kind === 'signed-out' && state.reason === 'left') forgetVisitor();
    else forgetAll();
  }, [state]);

  if (!access) return <Gate session={session as Session} state={state} />;
  return (
    <AccessContext.Provider value={access}>
      <Shell key={identity} access={access} />
    </AccessContext.Provider>
  );
}

function forgetVisitor(): void {
  forgetAll();
  forgetDrafts();
  dropJob();
}

function Shell({ access }: { access: Access }) {
  const route = useRoute();
  return (
    <div class="shell">
      {/* Not a link: the hash says where the page is. */}
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        {t.skip}
      </button>
      <header class="side">
        <Navigation route={route} access={access} />
        <IdentityPanel access={access} />
      </header>
      <main class="main" id="main" tabIndex={-1}>
        <View route={route} access={access} />
      </main>
      <Toasts />
    </div>
  );
}

function View({ route, access }: { route: Route; access: Access }) {
  const [section = '', id, part] = route.path;
  const { canWrite, isOperator } = access;
  if (section === '') return <OverviewView route={route} />;
  if (section === 'endpoints') {
    if (id === undefined) return <EndpointsView route={route} />;
    if (id === 'new' && canWrite) return <EndpointEditView key="new" id={null} />;
    if (part === 'edit' && canWrite) return <EndpointEditView key={id} id={id} />;
    if (part === undefined || part === 'attempts' || part === 'edit') {
      return (
        <EndpointView key={id} id={id} tab={part === 'attempts' ? 'attempts' : 'overview'} route={route} />
      );
    }
  }
  if (section === 'messages') {
    return id === undefined ? <MessagesView route={route} /> : <MessageView key={id} id={id} />;
  }
  if (section === 'replay' && id === undefined && canWrite) return <ReplayView route={route} />;
  if (section === 'tenants' && id === undefined && isOperator) return <TenantsView route={route} />;
  if (section === 'keys' && id === undefined && canWrite) return <KeysView />;
  if (section === 'audit' && id === undefined) return <AuditView route={route} />;
  return (
    <PageHead title={t.noSuchView}>
      <a class="button" href="#/">
        {t.toOverview}
      </a>
    </PageHead>
  );
}
