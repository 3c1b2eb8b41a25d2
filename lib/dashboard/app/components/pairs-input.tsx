import { t } from '../texts.js';
import { Icon } from './icons.js';

export interface Pair {
  /** Stays with the row while others are added and removed. */
  key: number;
  name: string;
  value: string;
}

let lastKey = 0;

export function pair(name = '', value = ''): Pair {
  return { key: ++lastKey, name, value };
}

interface PairsProps {
  pairs: readonly Pair[];
  onChange: (pairs: Pair[]) => void;
  nameLabel: string;
  valueLabel: string;
  namePlaceholder?: string;
  valuePlaceholder?: string;
  addLabel: string;
  /** What is said of the row at this place. */
  issueAt?: (index: number) => string | undefined;
  note?: (pair: Pair) => string;
}

/** Rows of a name and a value. */
export function PairsInput(props: PairsProps) {
  const { pairs, onChange, nameLabel, valueLabel, namePlaceholder, valuePlaceholder, addLabel } = props;
  const set = (key: number, change: Partial<Pair>) =>
    onChange(pairs.map((each) => (each.key === key ? { ...each, ...change } : each)));
  return (
    <div class="pairs">
      {pairs.map((each, index) => {
        const issue = props.issueAt?.(index);
        const note = props.note?.(each);
        return (
          <div class="stack-small" key={each.key}>
            <div class="pair">
              <input
                class="mono"
                aria-label={`${nameLabel} ${index + 1}`}
                aria-invalid={issue !== undefined}
                placeholder={namePlaceholder}
                value={each.name}
                spellcheck={false}
                autocapitalize="off"
                onInput={(event) => set(each.key, { name: event.currentTarget.value })}
              />
              <input
                class="mono"
                aria-label={`${valueLabel} ${index + 1}`}
                aria-invalid={issue !== undefined}
                placeholder={valuePlaceholder}
                value={each.value}
                spellcheck={false}
                autocapitalize="off"
                onInput={(event) => set(each.key, { value: event.currentTarget.value })}
              />
              <button
                type="button"
                class="button quiet"
                aria-label={t.remove(each.name || `${nameLabel} ${index + 1}`)}
                onClick={() => onChange(pairs.filter(({ key }) => key !== each.key))}
              >
                <Icon name="close" />
              </button>
            </div>
            {issue !== undefined ? (
              <span class="issue" role="alert">
                {issue}
              </span>
            ) : (
              note && <span class="hint">{note}</span>
            )}
          </div>
        );
      })}
      <div>
        <button type="button" class="button small" onClick={() => onChange([...pairs, pair()])}>
          <Icon name="plus" size={13} />
          {addLabel}
        </button>
      </div>
    </div>
  );
}
