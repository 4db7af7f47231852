import { z } from 'zod';
import type { RemoteAgent } from '../client/remote-agent.ts';
import { url } from './credentials.ts';

const targetSchema = z.object({
  url,
  bearer_token: z.string().min(1).optional(),
  api_key: z.string().min(1).optional(),
});

/** `a2a.yaml`: the agents to which schedules deliver, by name. */
export const targetsSchema = z.object({ targets: z.record(z.string(), targetSchema).nullish() }).default({});

/** Targets that can be called, out of what stands in the file. */
export function toTargets(file: z.output<typeof targetsSchema>): ReadonlyMap<string, RemoteAgent> {
  const entries = Object.entries(file.targets ?? {});
  return new Map(entries.map(([target, entry]) => [target, toAgent(target, entry)]));
}

function toAgent(target: string, entry: z.output<typeof targetSchema>): RemoteAgent {
  const { bearer_token: bearer, api_key: apiKey } = entry;
  return {
    name: target,
    url: entry.url,
    protocol: '0.3',
    credentials: { ...(bearer !== undefined && { bearer }), ...(apiKey !== undefined && { apiKey }) },
  };
}
