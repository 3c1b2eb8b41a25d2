import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Issue } from '../../../client/index.js';
import { t } from '../texts.js';

/** What is said of a field, and of all that is in it. */
export function issuesOf(issues: readonly Issue[], path: string): string[] {
  return issues
    .filter((issue) => issue.path === path || issue.path.startsWith(`${path}.`))
    .map((issue) =>
      issue.path === path ? issue.message : `${issue.path.slice(path.length + 1)}: ${issue.message}`,
    );
}

/** What is said of a text that is to be a number; an empty one is none. */
export function numberIssues(path: string, text: string): Issue[] {
  return text.trim() === '' || Number.isFinite(Number(text)) ? [] : [{ path, message: t.notANumber }];
}

export interface ControlProps {
  id: string;
  'aria-invalid': boolean;
  'aria-describedby': string | undefined;
}

interface FieldProps {
  label: string;
  hint?: string;
  issues?: readonly string[];
  children: (control: ControlProps) => ComponentChildren;
}

/** A labelled control with its hint and what is wrong with it. */
export function Field({ label, hint, issues = [], children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, issues.length > 0 && `${id}-issue`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label class="label" for={id}>
        {label}
      </label>
      {children({ id, 'aria-invalid': issues.length > 0, 'aria-describedby': described || undefined })}
      <FieldNotes id={id} hint={hint} issues={issues} />
    </div>
  );
}

interface GroupProps {
  label: string;
  hint?: string;
  issues?: readonly string[];
  children: ComponentChildren;
}

/** Several controls under one label. */
export function FieldGroup({ label, hint, issues = [], children }: GroupProps) {
  const id = useId();
  return (
    <fieldset class="field" aria-describedby={issues.length > 0 ? `${id}-issue` : undefined}>
      <legend class="label">{label}</legend>
      {children}
      <FieldNotes id={id} hint={hint} issues={issues} />
    </fieldset>
  );
}

function FieldNotes({ id, hint, issues }: { id: string; hint?: string; issues: readonly string[] }) {
  return (
    <>
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {issues.length > 0 && (
        <span class="issue" id={`${id}-issue`} role="alert">
          {issues.join('; ')}
        </span>
      )}
    </>
  );
}
