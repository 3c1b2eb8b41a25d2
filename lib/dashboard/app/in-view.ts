/**
 * Calls `act` whenever `element` comes into view.
 * @param rootMargin how far beyond the window counts as in view
 * @returns what ends it
 */
export function whenInView(element: Element, act: () => void, rootMargin = '0px'): () => void {
  const observer = new IntersectionObserver(
    (entries) => {
      // A busy browser tells of several changes at once, and what it has come to only last.
      if (entries.some((entry) => entry.isIntersecting)) act();
    },
    { rootMargin },
  );
  observer.observe(element);
  return () => observer.disconnect();
}
