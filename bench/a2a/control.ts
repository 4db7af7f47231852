/** What a server under test has used so far. */
export interface ServerUse {
  /** Microseconds of the processor. */
  cpu: number;
  /** Bytes in use after a collection. */
  memory: number;
}

export function measureUse(): ServerUse {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { heapUsed, external } = process.memoryUsage();
  return { cpu: user + system, memory: heapUsed + external };
}
