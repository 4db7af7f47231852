/** An entry of a trace whose details are JSON already. */
export interface Traced {
  at: number;
  event: string;
  details: string;
}

/** Entries as JSON. */
export function traceText(trace: readonly Traced[]): string {
  const entries = trace.map(
    ({ at, event, details }) => `{"at":${at},"event":${JSON.stringify(event)},"details":${details}}`,
  );
  return `[${entries.join(',')}]`;
}
