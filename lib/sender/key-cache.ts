/**
 * Remembers what `load` makes of the last `size` texts, the least recently used one leaving first. Reading an ed25519
 * key costs half a millisecond, ten times what a signature with it does. `more` is for `load` alone: what was made of
 * a text is answered to whoever asks for the text.
 */
export function rememberLast<T, More extends unknown[] = []>(
  size: number,
  load: (text: string, ...more: More) => T,
): (text: string, ...more: More) => T {
  const known = new Map<string, T>();
  let newest: { text: string; value: T } | undefined;
  return (text, ...more) => {
    if (newest?.text === text) return newest.value;
    const found = known.get(text);
    if (found !== undefined) {
      // A Map keeps its keys in the order of insertion: putting one back makes it the newest.
      known.delete(text);
      known.set(text, found);
      newest = { text, value: found };
      return found;
    }
    const made = load(text, ...more);
    if (known.size >= size) known.delete(known.keys().next().value as string);
    known.set(text, made);
    newest = { text, value: made };
    return made;
  };
}
