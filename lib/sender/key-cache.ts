/**
 * Remembers what `load` makes of the last `size` texts, the least recently used one leaving first. Reading an ed25519
 * key costs half a millisecond, ten times what a signature with it does.
 */
export function rememberLast<T>(size: number, load: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) {
      // A Map keeps its keys in the order of insertion: putting one back makes it the newest.
      known.delete(text);
      known.set(text, found);
      return found;
    }
    const made = load(text);
    if (known.size >= size) known.delete(known.keys().next().value as string);
    known.set(text, made);
    return made;
  };
}
