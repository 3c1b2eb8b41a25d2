import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { onCleanUp } from './clean-up.js';
import { waitFor } from './wait-for.js';

export interface Traces {
  /** The spans that have ended, in the order in which they did. */
  spans(): ReadableSpan[];
  /** Those whose name begins so, as soon as there are so many. */
  waitFor(name: string, count?: number): Promise<ReadableSpan[]>;
}

/** Registers the SDK of OpenTelemetry, as an application would, until the test ends. */
export function startTracing(sampler?: Sampler): Traces {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler && { sampler }),
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  // After the senders: nothing of one that is being stopped is traced by nobody.
  onCleanUp('test', 'folder', async () => {
    trace.disable();
    context.disable();
    await provider.shutdown();
  });
  return {
    spans: () => exporter.getFinishedSpans(),
    waitFor: (name, count = 1) =>
      waitFor(() => {
        const found = exporter.getFinishedSpans().filter((span) => span.name.startsWith(name));
        return found.length >= count && found;
      }),
  };
}
