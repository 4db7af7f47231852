import type { Server } from 'node:http';

/** Something that takes messages over HTTP and brings each to a handler. */
export interface Contestant {
  url: string;
  /** What every request must carry. */
  headers?: Readonly<Record<string, string>>;
  /** Hands one message in without HTTP; the promise resolves when it is accepted. */
  publish(id: string): Promise<void>;
  /** Called when a handler begins with the message of this id. */
  onHandled: (id: string) => void;
  stop(): Promise<void>;
}

export const words = 'A message of the usual length, with a few words in it.';

export function addressOf(server: Server): string {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}
