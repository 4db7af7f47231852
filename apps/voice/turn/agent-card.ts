import type { AgentDescription } from '@trunkline/a2a';
import type { MiddlewareHandler } from 'hono';
import manifest from '../package.json' with { type: 'json' };

/** What other agents read about this one. */
export function describeVoice(name: string, publicUrl: string): AgentDescription {
  return {
    name,
    description: 'A voice assistant: answers in short spoken sentences, with tools and delegates.',
    version: manifest.version,
    publicUrl,
    provider: { organization: 'Trunkline', url: publicUrl },
    inputModes: ['text/plain'],
    outputModes: ['text/markdown'],
    skills: [
      {
        id: 'chat',
        name: 'Chat',
        description: 'Answers a message as the persona that also speaks.',
        tags: ['chat', 'voice'],
        examples: ['What time is it in Tokyo?'],
      },
    ],
  };
}

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
