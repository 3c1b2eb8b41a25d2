/** Of what was thrown, the message alone. It throws for nothing that there is: code of the application throws anything. */
export function messageOf(error: unknown): string {
  return told(() => {
    const { message } = (error ?? {}) as { message?: unknown };
    return typeof message === 'string' ? message : String(error);
  });
}

/** Of what was thrown, all that a log should have: the stack where there is one. It throws for nothing, either. */
export function stackOf(error: unknown): string {
  return told(() => String(error instanceof Error ? (error.stack ?? error.message) : error));
}

function told(text: () => string): string {
  try {
    return text();
  } catch {
    return 'something that has no text';
  }
}
