import type { Logger } from './retry.ts';

export interface TracingOptions {
  publicKey?: string | undefined;
  secretKey?: string | undefined;
  /** Address of the Langfuse-compatible host. */
  traceHost?: string | undefined;
  /** Used when `traceHost` is not given. */
  traceUrl?: string | undefined;
  /** Values that no trace may show, as they are now; those behind references and what looks like one are hidden anyway. */
  secrets?: (() => readonly string[]) | undefined;
  logger?: Logger | undefined;
}

export interface Tracing {
  enabled: boolean;
  /** Where traces go; undefined when tracing is off. */
  host: string | undefined;
  /** Sends what is waiting, within a few seconds, and ends tracing. */
  stop(): Promise<void>;
}

const localHost = 'http://127.0.0.1:3001';

/** Traces model calls when both keys are given; otherwise does nothing and loads nothing. */
export async function createTracing(options: TracingOptions): Promise<Tracing> {
  const { publicKey, secretKey, secrets = () => [], logger } = options;
  if (!publicKey || !secretKey) return { enabled: false, host: undefined, stop: async () => undefined };
  const host = (options.traceHost || options.traceUrl || localHost).replace(/\/+$/, '');
  const { joinExport } = await import('./trace-export.ts');
  const leave = joinExport({ host, publicKey, secretKey, secrets, logger });
  return { enabled: true, host, stop: leave };
}

/** Whether anybody wants to know of model calls at the moment. */
export function isTraced(): boolean {
  return (globalThis.AI_SDK_TELEMETRY_INTEGRATIONS?.length ?? 0) > 0;
}
