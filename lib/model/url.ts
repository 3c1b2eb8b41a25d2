/**
 * The URL, or null where the text is none. In place of `URL.canParse`, which Node 20 answers wrongly once it has been
 * called often: its optimized form reads Latin-1 text as UTF-8 and refuses "https://münchen.example/".
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
