import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { configuration } from '../configuration.js';
import { Icon } from './icons.js';

interface PageHeadProps {
  title: string;
  lead?: ComponentChildren;
  /** Where the view belongs to. */
  back?: { href: string; text: string };
  /** Monospaced, for ids. */
  mono?: boolean;
  children?: ComponentChildren;
}

/** A title that is longer, an address say, is written smaller on a phone. */
const LONG = 48;

let shownBefore = false;

/** The heading of a view. It takes the focus when the view is come to, so that it is read out and tabbing begins here. */
export function PageHead({ title, lead, back, mono = false, children }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // Not on arrival: the browser begins at the beginning by itself.
    if (shownBefore) heading.current?.focus({ preventScroll: true });
    shownBefore = true;
  }, []);
  useEffect(() => {
    document.title = `${title} · ${configuration.title}`;
  }, [title]);
  return (
    <div class="page-head">
      <div>
        {back && (
          <a class="back" href={back.href}>
            <Icon name="back" size={12} />
            <span class="clip">{back.text}</span>
          </a>
        )}
        <h1
          ref={heading}
          tabIndex={-1}
          class={`wrap ${mono ? 'mono' : ''} ${title.length > LONG ? 'long' : ''}`}
        >
          {title}
        </h1>
        {lead && <div class="lead wrap">{lead}</div>}
      </div>
      {children && <div class="line">{children}</div>}
    </div>
  );
}
