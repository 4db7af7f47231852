/** What a server under test tells of itself, at paths beside the protocol. */
export const reports: Readonly<Record<string, () => number>> = {
  '/cpu': usedCpu,
  '/memory': usedMemory,
};

/** Microseconds of the processor so far. */
function usedCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Bytes in use after a collection. */
function usedMemory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
