import type { A2aError } from './a2a-error.ts';

/** What 1.0 tells programs about an error beside its code. */
export function errorDetails(error: A2aError): object[] {
  return [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: error.reason,
      domain: 'a2a-protocol.org',
    },
  ];
}
