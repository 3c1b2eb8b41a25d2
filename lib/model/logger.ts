/** Where hookplane says what it noticed. `fields` are plain data, never secrets or payloads. */
export interface Logger {
  error(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  debug(message: string, fields?: Record<string, unknown>): void;
}

/** The logger when none is given: warnings and errors become Node.js process warnings, the rest is dropped. */
export const defaultLogger: Logger = {
  error: emitWarning,
  warn: emitWarning,
  info: () => {},
  debug: () => {},
};

function emitWarning(message: string, fields?: Record<string, unknown>): void {
  const detail = fields ? ` ${JSON.stringify(fields)}` : '';
  globalThis.process?.emitWarning?.(`${message}${detail}`, 'HookplaneWarning');
}

/** The same logger, but one that throws harms nobody: it is asked from timers, where a throw would end the process. */
export function safeLogger(logger: Logger): Logger {
  const guarded =
    (level: keyof Logger): Logger['error'] =>
    (message, fields) => {
      try {
        logger[level](message, fields);
      } catch {
        // There is nobody left to tell.
      }
    };
  return { error: guarded('error'), warn: guarded('warn'), info: guarded('info'), debug: guarded('debug') };
}
