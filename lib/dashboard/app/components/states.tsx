import type { ComponentChildren } from 'preact';
import { isAdminClientError } from '../../../client/index.js';
import { t } from '../texts.js';

/** What went wrong, in a sentence for the visitor. */
export function errorText(error: unknown): string {
  if (!isAdminClientError(error)) return error instanceof Error ? error.message : String(error);
  const known = (t.errors as Readonly<Record<string, string>>)[error.code];
  const request = error.requestId ? ` (${t.requestId} ${error.requestId})` : '';
  return `${known ?? error.message}${request}`;
}

export function isDenied(error: unknown): boolean {
  return isAdminClientError(error) && error.code === 'FORBIDDEN';
}

export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <div>{errorText(error)}</div>
      {retry && (
        <button type="button" class="button small" onClick={retry}>
          {t.retry}
        </button>
      )}
    </div>
  );
}

export function State({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">{t.loading}</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

interface LoadedProps<T> {
  data: T | undefined;
  error: unknown;
  reload: () => void;
  /** What there is to see while nothing has been read yet. */
  lines?: number;
  children: (data: T) => ComponentChildren;
}

/** What was read, or why it is not there: waiting, not found, denied, failed. An update that failed leaves the view. */
export function Loaded<T>({ data, error, reload, lines, children }: LoadedProps<T>) {
  if (isDenied(error)) {
    return (
      <State title={t.denied}>
        <p>{errorText(error)}</p>
      </State>
    );
  }
  if (data === undefined) {
    if (error === undefined) return <Loading lines={lines} />;
    const missing = isAdminClientError(error) && error.status === 404;
    return (
      <State title={missing ? t.notFound : t.failed}>
        <p role="alert">{errorText(error)}</p>
        {!missing && (
          <button type="button" class="button" onClick={reload}>
            {t.retry}
          </button>
        )}
      </State>
    );
  }
  return (
    <>
      {error !== undefined && <Stale error={error} retry={reload} />}
      {children(data)}
    </>
  );
}

/** What is shown was read before; the last try has failed. */
export function Stale({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <div class="notice warn" role="status">
      <div>
        {t.stale} {errorText(error)}
      </div>
      <button type="button" class="button small" onClick={retry}>
        {t.retry}
      </button>
    </div>
  );
}
