import { type Bus, checkPattern, type Message } from '@trunkline/bus';
import { describeRoute, type SseSubscriber, sse, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { maySee } from '../access/caller.ts';
import { redactMessage } from '../control/redact.ts';
import { busFailure } from '../errors.ts';
import type { SwitchboardEnv } from './guards.ts';

const streamQuery = z.object({ topic: z.string().default('#') });

const historyQuery = z.object({
  topic: z.string().optional(),
  correlationId: z.string().optional(),
  after: z.coerce.number().int().nonnegative().optional(),
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

/** What is on the bus now, and what was: each key sees the topics that it may subscribe to. */
export function mountBus(app: Hono<SwitchboardEnv>, bus: Bus): void {
  const live = describeRoute({
    summary: 'Messages as they come, as server-sent events',
    mediaType: 'text/event-stream',
  });
  app.get('/api/bus/stream', live, validate('query', streamQuery), async (context) => {
    const caller = context.get('caller');
    const { logger } = context.var;
    let reader: SseSubscriber | undefined;
    const show = (message: Message) => {
      if (maySee(caller, message.topic)) reader?.send(eventOf(redactMessage(message)));
    };
    const subscription = await subscribe(bus, context.req.valid('query').topic, show);
    return sse(context, {
      greeting: 'connected',
      subscribe: (subscriber) => {
        reader = subscriber;
        return () => {
          subscription
            .unsubscribe()
            .catch((error: unknown) => logger.warn({ err: error }, 'unsubscribe failed'));
        };
      },
    });
  });

  const past = describeRoute({
    summary: 'Journalled messages, oldest first; `earlier` is what to ask for as `before` to go on back',
  });
  app.get('/api/bus/history', past, validate('query', historyQuery), async (context) => {
    const { topic, correlationId, after, before, limit } = context.req.valid('query');
    const query = {
      limit,
      ...(topic && { topic }),
      ...(correlationId && { correlationId }),
      ...(after !== undefined && { after }),
      ...(before !== undefined && { before }),
    };
    const entries = await bus.history(query).catch((error: unknown) => {
      throw busFailure(error);
    });
    const caller = context.get('caller');
    const messages = entries
      .filter(({ message }) => maySee(caller, message.topic))
      .map(({ position, message }) => ({ position, message: redactMessage(message) }));
    // What this key may not see is left out, but the way back leads past it.
    const earlier = entries.length < limit ? null : (entries[0]?.position ?? null);
    return context.json({ success: true, data: { count: messages.length, messages, earlier } });
  });
}

async function subscribe(bus: Bus, pattern: string, handler: (message: Message) => void) {
  try {
    checkPattern(pattern);
    return await bus.subscribe(pattern, handler, { plugin: 'live-feed' });
  } catch (error) {
    throw busFailure(error);
  }
}

function eventOf(message: Message) {
  return { id: message.id, event: 'message', data: JSON.stringify(message) };
}
