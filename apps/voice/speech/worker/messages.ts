/** What a host says to its worker. */
export type HostMessage = { id: number; work: unknown } | { id: number; cancel: true };

/** What a worker says to its host: any number of values for a piece of work, then its end or an error. */
export type WorkerMessage =
  | { id: number; value: unknown }
  | { id: number; end: true }
  | { id: number; error: { message: string; code: string | undefined } };
