import { createGuardedFetch } from '@trunkline/http';
import { SourceError } from './source.ts';

export interface ServiceAddress {
  /** How the service is called in words, such as `The encyclopedia at http://...`. */
  name: string;
  url: string;
  /** The variable that names it. */
  variable: string;
  timeoutMs: number;
}

const MOST_BYTES = 8 * 1024 * 1024;

/** Asks a service that the operator configured for JSON; its host may be private, limits hold all the same. */
export function serviceClient({ name, url, variable, timeoutMs }: ServiceAddress) {
  const fetch = createGuardedFetch({
    allowedHosts: [new URL(url).hostname],
    timeoutMs,
    maxBytes: MOST_BYTES,
  });
  const headers = { accept: 'application/json' };
  return async (address: URL, signal: AbortSignal): Promise<unknown> => {
    const response = await fetch(address, { signal, headers }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new SourceError(
        'source_unreachable',
        `${name} cannot be reached: ${reason} Check that it runs and that ${variable} names it.`,
        { cause: error },
      );
    });
    if (response.status !== 200) throw refusal(name, response.status);
    return parse(name, variable, response.text());
  };
}

function refusal(name: string, status: number): SourceError {
  return new SourceError(
    status < 500 ? 'source_refused' : 'source_unreachable',
    `${name} answered with status ${status}.`,
  );
}

function parse(name: string, variable: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SourceError(
      'source_unreadable',
      `${name} did not answer in JSON. Check that ${variable} names the service itself and not a page in front of it.`,
      { cause: error },
    );
  }
}
