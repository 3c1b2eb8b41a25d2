import { useRef, useState } from 'preact/hooks';
import { t } from '../texts.js';
import type { ControlProps } from './field.js';
import { Icon } from './icons.js';

interface ChipsProps extends ControlProps {
  values: readonly string[];
  onChange: (values: string[]) => void;
  placeholder?: string;
  isWrong?: (value: string) => boolean;
}

/** Several short texts: Enter, a comma or a space adds what was typed; Backspace in the empty field takes the last away. */
export function ChipsInput({ values, onChange, placeholder, isWrong, ...control }: ChipsProps) {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const add = (typed: string) => {
    const added = typed.split(/[\s,]+/).filter((value) => value !== '' && !values.includes(value));
    setText('');
    if (added.length > 0) onChange([...values, ...new Set(added)]);
  };
  const remove = (value: string) => {
    onChange(values.filter((each) => each !== value));
    input.current?.focus();
  };
  return (
    // One box: what was typed becomes a chip where it stands, and nothing below it moves under the pointer.
    <div class="chips-box">
      {values.map((value) => (
        <span key={value} class={`chip ${isWrong?.(value) ? 'wrong' : ''}`}>
          <span class="clip">{value}</span>
          <button type="button" aria-label={t.remove(value)} onClick={() => remove(value)}>
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <input
        {...control}
        ref={input}
        class="mono"
        value={text}
        placeholder={values.length === 0 ? placeholder : undefined}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={({ currentTarget: { value } }) => (/[\s,]$/.test(value) ? add(value) : setText(value))}
        onBlur={() => add(text)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && text.trim() !== '') {
            event.preventDefault();
            add(text);
          } else if (event.key === 'Backspace' && text === '' && values.length > 0) {
            onChange(values.slice(0, -1));
          }
        }}
      />
    </div>
  );
}
