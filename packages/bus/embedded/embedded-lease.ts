import { BusError } from '../errors.ts';
import type { Lease, LeaseOptions } from '../port.ts';

/** One process has the embedded bus for itself, so it holds every lease; the token grows with each start. */
export function embeddedLease(name: string, starts: number, options: LeaseOptions): Lease {
  let token: number | undefined = starts;
  queueMicrotask(() => token !== undefined && options.onChange?.(token));
  return {
    name,
    get token() {
      return token;
    },
    confirm: async () => {
      if (token !== undefined) return token;
      throw new BusError('lease_lost', `The lease ${name} was released.`);
    },
    release: async () => {
      if (token === undefined) return;
      token = undefined;
      options.onChange?.(undefined);
    },
  };
}
