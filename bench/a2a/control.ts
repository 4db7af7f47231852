import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a server under test has used so far. */
export interface ServerUse {
  /** Microseconds of the processor. */
  cpu: number;
  /** Bytes in use after a collection. */
  memory: number;
  /** Bytes of the whole process. */
  resident: number;
}

/** Answers `/use` beside the protocol, so that both servers are measured in the same way. */
export function answerUse(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.url !== '/use') return false;
  response.setHeader('content-type', 'application/json').end(JSON.stringify(measureUse()));
  return true;
}

export function measureUse(): ServerUse {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { cpu: user + system, memory: heapUsed + external, resident: rss };
}
