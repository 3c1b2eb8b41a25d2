#!/usr/bin/env node
import type { Output } from './io.js';
import { runCli } from './run.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function outputOf(stream: NodeJS.WriteStream): Output {
  // Who reads has read enough, as in `hookplane tail | head`.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
  return {
    write: (text) => new Promise((resolve) => stream.write(text, () => resolve())),
    isTTY: stream.isTTY === true,
    columns: stream.columns ?? 80,
  };
}

void runCli(process.argv.slice(2), {
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  env: process.env,
  onInterrupt(listener) {
    for (const signal of SIGNALS) process.on(signal, listener);
    return () => {
      for (const signal of SIGNALS) process.off(signal, listener);
    };
  },
}).then((code) => {
  process.exitCode = code;
});
