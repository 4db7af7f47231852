import type { MiddlewareHandler } from 'hono';

const apiKey = { type: 'apiKey', in: 'header', name: 'X-API-Key' };

/** Names the API key on the older form of the card even where none is asked for, as its readers expect. */
export function advertiseApiKey(): MiddlewareHandler {
  return async (context, next) => {
    await next();
    if (context.res.status !== 200) return;
    const card = (await context.res.clone().json()) as { protocolVersion?: string; securitySchemes?: object };
    if (card.protocolVersion === undefined) return;
    const body = JSON.stringify({ ...card, securitySchemes: { apiKey, ...card.securitySchemes } });
    context.res = new Response(body, context.res);
  };
}
