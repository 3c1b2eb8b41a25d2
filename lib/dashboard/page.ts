import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, gzip } from 'node:zlib';
import type { Encoding } from './negotiation.js';
import type { DashboardSettings } from './options.js';

/** A file of the page in each of its encodings, ready to be sent. */
export interface PageFile {
  type: string;
  /** Its name has a hash of its content in it, so that it never changes. */
  immutable: boolean;
  /** A hash of the content; each encoding's tag is made of it. */
  hash: string;
  bytes: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>;
}

/** By path below the mount. */
export type Page = ReadonlyMap<string, PageFile>;

/**
 * Reads the page as it was built, and makes what depends on the settings: the shell, which tells the bundle where the
 * control plane is, and the style sheet of the theme.
 */
export async function loadPage(settings: DashboardSettings): Promise<Page> {
  const { default: built } = await import('#dashboard-page');
  const page = new Map<string, PageFile>();
  for (const [name, { type, br, gzip }] of Object.entries(built.files)) {
    const compressed = Buffer.from(br, 'base64');
    const identity = await promisify(brotliDecompress)(compressed);
    const bytes = { br: own(compressed), gzip: own(Buffer.from(gzip, 'base64')), identity: own(identity) };
    page.set(`/${name}`, { type, immutable: true, hash: hashOf(identity), bytes });
  }
  if (settings.theme.size > 0) page.set('/theme.css', await encode('text/css', writeTheme(settings.theme)));
  page.set('/', await encode('text/html', writeShell(built.html, settings)));
  return page;
}

async function encode(type: string, text: string): Promise<PageFile> {
  const identity = Buffer.from(text);
  const [br, gz] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity)]);
  const bytes = { br: own(br), gzip: own(gz), identity: own(identity) };
  return { type: `${type}; charset=utf-8`, immutable: false, hash: hashOf(identity), bytes };
}

/** In memory that is not shared with other buffers, as a Response wants it. */
function own(buffer: Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer);
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
}

/** Settings go into the page as data: the content security policy allows no inline script. */
function writeShell(html: string, { adminUrl, title, theme }: DashboardSettings): string {
  const configuration = escapeHtml(JSON.stringify({ adminUrl, title }));
  const styles = theme.size > 0 ? '  <link rel="stylesheet" href="./theme.css">\n  ' : '';
  // By functions, as a replacement that is a text has a syntax of its own.
  return html
    .replace(/<meta name="hookplane"[^>]*>/, () => `<meta name="hookplane" content="${configuration}">`)
    .replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(title)}</title>`)
    .replace('</head>', () => `${styles}</head>`);
}

/** Behind the style sheet of the bundle, whose properties it overrides by coming later. */
function writeTheme(theme: ReadonlyMap<string, string>): string {
  const declarations = [...theme].map(([name, value]) => `  ${name}: ${value};\n`);
  return `:root {\n${declarations.join('')}}\n`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
