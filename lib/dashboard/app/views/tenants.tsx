import { useState } from 'preact/hooks';
import type { Issue, Tenant } from '../../../client/index.js';
import { isAdminClientError } from '../../../client/index.js';
import { ConfirmDialog, Dialog } from '../components/dialog.js';
import { Field, issuesOf, numberIssues } from '../components/field.js';
import { EmptyList, List, OlderNotice } from '../components/list.js';
import { PageHead } from '../components/page-head.js';
import { ErrorNotice } from '../components/states.js';
import { ListTime } from '../components/time.js';
import { toast } from '../components/toast.js';
import { useDraft } from '../drafts.js';
import { formatNumber } from '../format.js';
import { usePages } from '../paging.js';
import { href, type Route } from '../query-state.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { useAction } from '../use-action.js';

type Open = { kind: 'limit' | 'delete'; tenant: Tenant } | { kind: 'limit'; tenant: null } | null;

/** For operators: who has a record, and its limits. */
export function TenantsView({ route: { query, key } }: { route: Route }) {
  const { client, canWrite } = useAccess();
  const [open, setOpen] = useState<Open>(null);
  const cursor = query.get('cursor');
  const pages = usePages<Tenant>(
    key,
    async (page, signal) => {
      const { tenants, nextCursor } = await client.tenants.list(page, { signal });
      return { rows: tenants, nextCursor };
    },
    { from: cursor, everyMs: 8000 },
  );
  const close = () => setOpen(null);
  return (
    <>
      <PageHead title={t.nav.tenants} lead={t.tenantsLead}>
        {canWrite && (
          <button type="button" class="button" onClick={() => setOpen({ kind: 'limit', tenant: null })}>
            {t.newTenant}
          </button>
        )}
      </PageHead>
      <div class="stack">
        <OlderNotice cursor={cursor} />
        <section class="card table-box">
          <List
            pages={pages}
            label={t.nav.tenants}
            empty={<EmptyList filtered={false} title={t.noTenants} text={t.noTenantsText} />}
            head={
              <>
                <th scope="col">{t.tenant}</th>
                <th scope="col" class="hide-narrow">
                  {t.rateLimit}
                </th>
                <th scope="col" class="hide-medium">
                  {t.metadata}
                </th>
                <th scope="col" class="col-time hide-narrow">
                  {t.created}
                </th>
                {canWrite && (
                  <th scope="col" class="col-actions">
                    <span class="visually-hidden">{t.actions}</span>
                  </th>
                )}
              </>
            }
            row={(tenant) => (
              <tr key={tenant.id}>
                <td>
                  <a
                    class="clip"
                    href={href(['messages'], { tenantId: tenant.id })}
                    title={t.messagesOf(tenant.id)}
                  >
                    {tenant.id}
                  </a>
                  <a class="small" href={href(['endpoints'], { tenantId: tenant.id })}>
                    {t.nav.endpoints}
                  </a>
                  <span class="small muted only-narrow">{limitText(tenant)}</span>
                </td>
                <td class="number hide-narrow">{limitText(tenant)}</td>
                <td class="hide-medium">
                  <span class="clip mono muted">{metadataText(tenant)}</span>
                </td>
                <td class="hide-narrow">
                  <ListTime value={tenant.createdAt} />
                </td>
                {canWrite && (
                  <td class="right nowrap">
                    <button
                      type="button"
                      class="button small"
                      aria-label={`${t.setLimit}: ${tenant.id}`}
                      onClick={() => setOpen({ kind: 'limit', tenant })}
                    >
                      {t.setLimit}
                    </button>{' '}
                    <button
                      type="button"
                      class="button small danger"
                      aria-label={`${t.delete}: ${tenant.id}`}
                      onClick={() => setOpen({ kind: 'delete', tenant })}
                    >
                      {t.delete}
                    </button>
                  </td>
                )}
              </tr>
            )}
          />
        </section>
      </div>
      {open?.kind === 'limit' && (
        <LimitDialog
          tenant={open.tenant}
          onClose={close}
          onSaved={() => {
            close();
            toast(t.saved);
            pages.reload();
          }}
        />
      )}
      {open?.kind === 'delete' && open.tenant && (
        <DeleteDialog tenant={open.tenant} onClose={close} onDeleted={pages.reload} />
      )}
    </>
  );
}

function limitText({ rateLimit }: Tenant): string {
  return rateLimit ? t.rateText(formatNumber(rateLimit.perSecond), formatNumber(rateLimit.burst)) : t.noLimit;
}

function metadataText({ metadata }: Tenant): string {
  return Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : '';
}

function DeleteDialog({
  tenant,
  onClose,
  onDeleted,
}: {
  tenant: Tenant;
  onClose: () => void;
  onDeleted: () => void;
}) {
  const { client } = useAccess();
  return (
    <ConfirmDialog
      title={t.deleteTenantTitle}
      action={t.deleteTenant}
      danger
      typed={tenant.id}
      onClose={onClose}
      run={async () => {
        await client.tenants.delete(tenant.id);
        toast(t.deleted);
        onDeleted();
      }}
    >
      <p>{t.deleteTenantText}</p>
    </ConfirmDialog>
  );
}

function LimitDialog({
  tenant,
  onClose,
  onSaved,
}: {
  tenant: Tenant | null;
  onClose: () => void;
  onSaved: () => void;
}) {
  const { client } = useAccess();
  const action = useAction();
  const [{ id, perSecond, burst }, change] = useDraft(`limit:${tenant?.id ?? ''}`, () => ({
    id: '',
    perSecond: tenant?.rateLimit ? String(tenant.rateLimit.perSecond) : '',
    burst: tenant?.rateLimit ? String(tenant.rateLimit.burst) : '',
  }));
  const [wrong, setWrong] = useState<readonly Issue[]>([]);
  const refused: readonly Issue[] = (isAdminClientError(action.error) && action.error.issues) || [];
  const issues = [...wrong, ...refused];
  const save = () =>
    action.start(async () => {
      await client.tenants.setRateLimit(tenant?.id ?? id, {
        perSecond: perSecond === '' ? null : Number(perSecond),
        ...(burst !== '' && perSecond !== '' && { burst: Number(burst) }),
      });
      onSaved();
    });
  return (
    <Dialog title={tenant ? t.limitTitle(tenant.id) : t.newTenant} onClose={onClose}>
      <form
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          // JSON has no NaN: it would arrive as null, which means no limit.
          const found = [...numberIssues('perSecond', perSecond), ...numberIssues('burst', burst)];
          setWrong(found);
          if (found.length === 0) void save();
        }}
      >
        {!tenant && (
          <Field label={t.tenant} hint={t.newTenantHint} issues={issuesOf(issues, 'id')}>
            {(control) => (
              <input
                {...control}
                value={id}
                required
                onInput={(event) => change({ id: event.currentTarget.value })}
              />
            )}
          </Field>
        )}
        <div class="field-row">
          <Field label={t.perSecond} hint={t.perSecondHint} issues={issuesOf(issues, 'perSecond')}>
            {(control) => (
              <input
                {...control}
                inputMode="decimal"
                value={perSecond}
                onInput={(event) => change({ perSecond: event.currentTarget.value.trim() })}
              />
            )}
          </Field>
          <Field label={t.burst} hint={t.burstHint} issues={issuesOf(issues, 'burst')}>
            {(control) => (
              <input
                {...control}
                inputMode="numeric"
                value={burst}
                onInput={(event) => change({ burst: event.currentTarget.value.trim() })}
              />
            )}
          </Field>
        </div>
        {action.error !== null && issues.length === 0 && <ErrorNotice error={action.error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" class="button primary" disabled={action.busy || (!tenant && id === '')}>
            {t.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
