import { Logger as NestLogger } from '@nestjs/common';
import type { Logger } from '../model/logger.js';

/** Logs with whatever logger the application gives to Nest. Each entry is one text: loggers differ in what they do with more. */
export function nestLogger(): Logger {
  const nest = new NestLogger('Hookplane');
  const text = (message: string, fields?: Record<string, unknown>): string =>
    fields ? `${message} ${JSON.stringify(fields)}` : message;
  return {
    error: (message, fields) => nest.error(text(message, fields)),
    warn: (message, fields) => nest.warn(text(message, fields)),
    info: (message, fields) => nest.log(text(message, fields)),
    debug: (message, fields) => nest.debug(text(message, fields)),
  };
}
