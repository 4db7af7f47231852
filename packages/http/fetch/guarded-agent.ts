import type { LookupFunction } from 'node:net';
import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import type { AddressPolicy, ResolvedAddress } from './address-policy.ts';

export { undiciFetch };

/** What an agent is destroyed with at the end of its exchange. Made once: an error of its own with its stack costs more than the rest. */
export const exchangeOver = new Error('The exchange is over.');

/** Every connection resolves and checks its host itself, and connects to nothing but what was checked. */
export function createGuardedAgent(policy: AddressPolicy, signal: AbortSignal): Agent {
  return new Agent({
    connect: (options, callback) => {
      policy.resolve(options.hostname, signal).then(
        (addresses) =>
          buildConnector({ lookup: pinnedLookup(addresses), autoSelectFamily: true })(options, callback),
        (error: Error) => callback(error, null),
      );
    },
  });
}

/** Answers with the checked addresses whatever is asked; no second question goes to the resolver. */
function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) return callback(null, [...addresses]);
    const [first] = addresses;
    return callback(null, first?.address ?? '', first?.family ?? 0);
  };
}
