import type { Api, ApiRequest } from '@trunkline/ui';

/** Asks the service; a refusal that comes as status 200 with an error in the body fails too. */
export async function ask<Body extends object>(api: Api, path: string, request?: ApiRequest): Promise<Body> {
  const body = await api.request<Body & { error?: unknown }>(path, request);
  if (typeof body.error === 'string') throw new Error(body.error);
  return body;
}
