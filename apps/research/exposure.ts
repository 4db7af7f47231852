import { keyFacts } from '@trunkline/http';
import { type Exposure, withGrpcPort } from '@trunkline/service';
import type { ResearchOptions } from './options.ts';

/** How others reach the service. */
export function researchExposures({ host, authToken, grpcPort }: ResearchOptions): Exposure[] {
  const variable = 'RESEARCH_AUTH_TOKEN';
  const keys = { [variable]: authToken === undefined ? undefined : keyFacts(authToken) };
  return withGrpcPort({ name: 'research', host, isOpen: authToken === undefined, variable, keys }, grpcPort);
}
