import { z } from 'zod';

export interface RefreshRequest {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  refreshToken: string;
}

const grantSchema = z.object({
  access_token: z.string(),
  expires_in: z.number(),
  refresh_token: z.string().optional(),
});
const refusalSchema = z.object({ error: z.string().optional(), error_description: z.string().optional() });

const callMs = 20_000;

/** Asks an OAuth token service for a fresh access token; fails with the reason of its refusal. */
export async function refreshGrant(request: RefreshRequest): Promise<z.output<typeof grantSchema>> {
  const { tokenUrl, clientId, clientSecret, refreshToken } = request;
  const response = await fetch(tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: clientId,
      client_secret: clientSecret,
    }),
    signal: AbortSignal.timeout(callMs),
  });
  // A refusal need not be JSON; then its status has to do.
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return grantSchema.parse(answer);
  const { error, error_description: words } = refusalSchema.safeParse(answer).data ?? {};
  throw new Error(words ?? error ?? `it answered ${response.status}`);
}
