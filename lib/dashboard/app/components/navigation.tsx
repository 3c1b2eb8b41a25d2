import { useEffect, useRef, useState } from 'preact/hooks';
import { useLivePause } from '../live.js';
import { href, type Route } from '../query-state.js';
import { useReplayJob } from '../replay-job.js';
import type { Access } from '../session.js';
import { configuration } from '../configuration.js';
import { t } from '../texts.js';
import { applyTheme, readTheme, THEMES, type Theme } from '../theme.js';
import { Icon, type IconName } from './icons.js';

interface Item {
  section: string;
  icon: IconName;
  text: string;
}

/** What the caller may use; what would be refused is not offered. */
function itemsFor({ isOperator, canWrite }: Access): Item[] {
  const items: (Item | false)[] = [
    { section: '', icon: 'overview', text: t.nav.overview },
    { section: 'endpoints', icon: 'endpoints', text: t.nav.endpoints },
    { section: 'messages', icon: 'messages', text: t.nav.messages },
    canWrite && { section: 'replay', icon: 'replay', text: t.nav.replay },
    isOperator && { section: 'tenants', icon: 'tenants', text: t.nav.tenants },
    canWrite && { section: 'keys', icon: 'keys', text: t.nav.keys },
    { section: 'audit', icon: 'audit', text: t.nav.audit },
  ];
  return items.filter((item) => item !== false);
}

export function Navigation({ route, access }: { route: Route; access: Access }) {
  const [current = ''] = route.path;
  const job = useReplayJob();
  const nav = useRef<HTMLElement>(null);
  // On a phone the views are on a line that is longer than the screen.
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>(`[data-section="${CSS.escape(current)}"]`);
    if (link && nav.current) nav.current.scrollLeft = link.offsetLeft - 40;
  }, [current]);
  return (
    <>
      <a class="brand" href="#/">
        <span class="brand-mark">
          <Icon name="mark" />
        </span>
        <span class="wrap">{configuration.title}</span>
      </a>
      <nav class="nav" ref={nav} aria-label={t.nav.label}>
        <ul>
          {itemsFor(access).map(({ section, icon, text }) => (
            <li key={section}>
              <a
                data-section={section}
                href={section === '' ? '#/' : href([section])}
                aria-current={section === current ? 'page' : undefined}
              >
                <Icon name={icon} />
                {text}
                {section === 'replay' && job && (job.phase === 'running' || job.phase === 'paused') && (
                  <span class="nav-note">{job.phase === 'running' ? t.running : t.paused}</span>
                )}
              </a>
            </li>
          ))}
        </ul>
      </nav>
    </>
  );
}

export function IdentityPanel({ access: { caller, session } }: { access: Access }) {
  const [theme, setTheme] = useState(readTheme);
  const [paused, setPaused] = useLivePause();
  return (
    <div class="side-foot">
      <button
        type="button"
        class="button quiet small live"
        aria-pressed={!paused}
        title={paused ? t.liveOff : t.liveOn}
        onClick={() => setPaused(!paused)}
      >
        <span class="live-text">{t.live}</span>
      </button>
      <label class="theme-pick">
        <span class="visually-hidden">{t.theme}</span>
        <select
          value={theme}
          onChange={({ currentTarget: { value } }) => {
            setTheme(value as Theme);
            applyTheme(value as Theme);
          }}
        >
          {THEMES.map((each) => (
            <option key={each} value={each}>
              {t.themes[each]}
            </option>
          ))}
        </select>
      </label>
      <div class="who">
        {caller.actor && <span class="clip">{caller.actor.name ?? caller.actor.id}</span>}
        <span class="muted wrap">{caller.tenantId === null ? t.operator : t.boundTo(caller.tenantId)}</span>
        {caller.readOnly && <span class="muted">{t.readOnly}</span>}
      </div>
      {session.hasToken() && (
        <button type="button" class="button quiet small" onClick={() => session.signOut()}>
          {t.signOut}
        </button>
      )}
    </div>
  );
}
