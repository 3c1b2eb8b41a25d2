import { useState } from 'preact/hooks';
import { SecretBox } from '../components/copy-button.js';
import { PageHead } from '../components/page-head.js';
import { ErrorNotice } from '../components/states.js';
import { useAccess } from '../session.js';
import { t } from '../texts.js';
import { useAction } from '../use-action.js';

type Shown = readonly (readonly [label: string, secret: string])[];

/** Keys to sign with, made by the control plane and kept nowhere. */
export function KeysView() {
  const { client } = useAccess();
  return (
    <>
      <PageHead title={t.nav.keys} lead={t.keysLead} />
      <div class="halves">
        <Generator
          title={t.symmetric}
          text={t.symmetricText}
          generate={async () => [[t.secret, (await client.keys.generateSymmetric()).secret]]}
        />
        <Generator
          title={t.asymmetric}
          text={t.asymmetricText}
          generate={async () => {
            const { privateKey, publicKey } = await client.keys.generateAsymmetric();
            return [
              [t.privateKey, privateKey],
              [t.publicKey, publicKey],
            ];
          }}
        />
      </div>
    </>
  );
}

function Generator({
  title,
  text,
  generate,
}: {
  title: string;
  text: string;
  generate: () => Promise<Shown>;
}) {
  const action = useAction();
  // Not remembered: what leaves the view is gone.
  const [shown, setShown] = useState<Shown | null>(null);
  return (
    <section class="card" aria-label={title}>
      <div class="card-head">
        <h2>{title}</h2>
      </div>
      <div class="card-body stack">
        <p class="muted">{text}</p>
        <div>
          <button
            type="button"
            class="button"
            disabled={action.busy}
            onClick={() => void action.start(async () => setShown(await generate()))}
          >
            {shown ? t.generateAnother : t.generate}
          </button>
        </div>
        {action.error !== null && <ErrorNotice error={action.error} />}
        {shown && (
          <div class="stack" role="status">
            <p class="notice warn">{t.shownOnce}</p>
            {shown.map(([label, secret]) => (
              <SecretBox key={label} label={label} secret={secret} />
            ))}
          </div>
        )}
      </div>
    </section>
  );
}
