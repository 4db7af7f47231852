import { useMemo } from 'react';
import { type Resource, useResource } from '../hooks/useResource.ts';
import { type Health, readHealth } from './health.ts';

const REFRESH_MS = 10_000;
// A service that is not ready answers 503 with the same body.
const ACCEPTED = [503];

export interface HealthResource extends Omit<Resource<unknown>, 'body'> {
  /** Undefined before the first answer, and while the service is not reached. */
  health: Health | undefined;
}

/** The state of the page's own service, asked again every few seconds. */
export function useHealth(): HealthResource {
  const { body, ...rest } = useResource<unknown>('/healthz', { refreshMs: REFRESH_MS, accept: ACCEPTED });
  const health = useMemo(
    () => (body === undefined ? undefined : readHealth(body, window.location.href)),
    [body],
  );
  return { ...rest, health: rest.error === undefined ? health : undefined };
}
