import { useEffect, useRef, useState } from 'preact/hooks';
import type { Endpoint, EndpointWithSecret, Issue } from '../../../client/index.js';
import { isAdminClientError } from '../../../client/index.js';
import { SecretBox } from '../components/copy-button.js';
import { EndpointForm } from '../components/endpoint-form.js';
import { PageHead } from '../components/page-head.js';
import { RecentCheck } from '../components/recent-check.js';
import { ErrorNotice, Loaded } from '../components/states.js';
import { toast } from '../components/toast.js';
import { useDraft } from '../drafts.js';
import { createOf, type Draft, draftOf, filterOf, readDraft, updateOf } from '../endpoint-draft.js';
import { useLive } from '../live.js';
import { go, href } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { useAction } from '../use-action.js';

/** Makes an endpoint, or changes one. */
export function EndpointEditView({ id }: { id: string | null }) {
  return id === null ? <Editor before={null} /> : <Existing id={id} />;
}

function Existing({ id }: { id: string }) {
  const { client } = useAccess();
  // Once: what somebody else changes meanwhile must not overwrite what is being typed.
  const { data, error, reload } = useLive(
    `endpoint-edit:${id}`,
    (signal) => client.endpoints.get(id, { signal }),
    null,
  );
  return (
    <Loaded data={data} error={error} reload={reload} lines={9}>
      {(endpoint) => <Editor key={endpoint.updatedAt} before={endpoint} />}
    </Loaded>
  );
}

interface Form extends Draft {
  /** What was there when typing began: what somebody else changes after that is left as it is. */
  before: Endpoint | null;
}

function Editor({ before: found }: { before: Endpoint | null }) {
  const { client, isOperator, caller } = useAccess();
  const [draft, change] = useDraft<Form>(
    `endpoint:${found?.id ?? 'new'}`,
    () => ({ ...draftOf(found), before: found }),
    (now) => ({ ...now, secret: '' }),
  );
  const { before } = draft;
  const [wrong, setWrong] = useState<readonly Issue[]>([]);
  const [created, setCreated] = useState<EndpointWithSecret | null>(null);
  const action = useAction();
  const form = useRef<HTMLFormElement>(null);
  const refused = (isAdminClientError(action.error) && action.error.issues) || [];
  const issues = [...wrong, ...refused];

  useEffect(() => {
    if (issues.length > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [issues.length]);

  const save = () => {
    const { input, issues: found } = readDraft(draft);
    action.clear();
    setWrong(found);
    if (found.length > 0) return;
    void action.start(async () => {
      if (before === null) {
        setCreated(await client.endpoints.create(createOf(draft, input, isOperator)));
        return;
      }
      const changes = updateOf(before, input);
      if (Object.keys(changes).length > 0) {
        await client.endpoints.update(before.id, changes);
        toast(t.saved);
      }
      go(['endpoints', before.id]);
    });
  };

  if (created) return <Created endpoint={created} />;
  const back =
    before === null
      ? { href: href(['endpoints']), text: t.nav.endpoints }
      : { href: href(['endpoints', before.id]), text: before.url };
  const tenantId = before ? before.tenantId : isOperator ? draft.tenantId || null : caller.tenantId;
  return (
    <>
      <PageHead title={before === null ? t.newEndpoint : t.editEndpoint} back={back} />
      <form
        ref={form}
        class="columns"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <div class="stack">
          <EndpointForm
            draft={draft}
            change={change}
            issues={issues}
            withTenant={before === null && isOperator}
            isNew={before === null}
          />
          {action.error !== null && refused.length === 0 && <ErrorNotice error={action.error} />}
          <div class="dialog-actions">
            <a class="button" href={back.href}>
              {t.cancel}
            </a>
            <button type="submit" class="button primary" disabled={action.busy}>
              {before === null ? t.create : t.save}
            </button>
          </div>
        </div>
        <RecentCheck
          tenantId={isOperator ? tenantId : undefined}
          types={draft.types.length > 0 ? draft.types : null}
          channels={draft.channels.length > 0 ? draft.channels : null}
          filter={filterOf(draft.clauses)}
        />
      </form>
    </>
  );
}

/** The secret is shown here, and then only to those who ask for it. */
function Created({ endpoint }: { endpoint: EndpointWithSecret }) {
  return (
    <>
      <PageHead title={t.endpointCreated} lead={endpoint.url} />
      <section class="card card-body stack">
        <p class="notice warn">{t.shownOnceSecret}</p>
        <SecretBox label={t.secret} secret={endpoint.secret} />
        <div>
          <a class="button primary" href={href(['endpoints', endpoint.id])}>
            {t.toEndpoint}
          </a>
        </div>
      </section>
    </>
  );
}
