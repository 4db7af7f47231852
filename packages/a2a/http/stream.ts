import { answerText, type RequestContext, type RouteContext, sse } from '@trunkline/http';
import { principalHeader, readHandedOn } from '@trunkline/identity';
import type { Dialect } from '../dialects/dialect.ts';
import type { JsonObject } from '../dialects/read/values.ts';
import type { Feed, FeedOutlet } from '../engine/feed.ts';
import { A2aError } from '../errors/a2a-error.ts';
import type { Call } from '../operations.ts';
import { lastStatus } from '../protocol/model.ts';

const keepaliveMs = 25_000;
const wholeStream = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

type Wrap = (frame: string) => string;
/** False when the reader lags. */
type Write = (sequence: number, data: string) => boolean;

/** Writes a feed as server-sent events, each numbered so that a reader can come back where it was. */
export function openStream(context: RequestContext, feed: Feed, dialect: Dialect, wrap: Wrap): Response {
  const open = (write: Write, rest: Pick<FeedOutlet, 'drained' | 'end'>) =>
    feed.open(createOutlet(dialect, feed.place, wrap, write, rest));
  if (feed.complete) {
    // Nothing more will come: all frames go out in one piece.
    let text = '';
    const write: Write = (sequence, data) => {
      text += `id: ${sequence}\ndata: ${data}\n\n`;
      return true;
    };
    open(write, { drained: async () => undefined, end: () => undefined });
    return answerText(context, text, wholeStream);
  }
  return sse(context, {
    keepaliveMs,
    // Of a reader that lags nothing waits here but the frame that it has not taken: the rest is read from the store.
    overflow: 'close',
    subscribe(subscriber) {
      open((sequence, data) => subscriber.send({ id: String(sequence), data }), {
        drained: () => subscriber.drained(),
        end: () => subscriber.end(),
      });
      return () => feed.close();
    },
  });
}

/** A stream of one frame, for what is answered before any event. */
export function frameAnswer(context: RequestContext, data: string): Response {
  return answerText(context, `data: ${data}\n\n`, wholeStream);
}

function createOutlet(
  dialect: Dialect,
  place: Feed['place'],
  wrap: Wrap,
  write: Write,
  rest: Pick<FeedOutlet, 'drained' | 'end'>,
): FeedOutlet {
  const send = (sequence: number, frame: object) => write(sequence, wrap(JSON.stringify(frame)));
  return {
    task(task, sequence) {
      send(sequence, dialect.taskResult(task));
      // Readers of 0.3 wait for a frame that says it is the last, also when the task had settled before.
      if (dialect.version === '0.3' && task.state !== 'working')
        send(sequence, dialect.eventFrame(task, lastStatus(task)));
    },
    event: ({ sequence, event }) => send(sequence, dialect.eventFrame(place, event)),
    ...rest,
  };
}

/**
 * Refuses a body that does not say it is JSON. A page of another site can send plain text, forms and bodies without
 * any type, and no others.
 */
export function requireJson(context: RequestContext): void {
  const declared = context.req.header('content-type') ?? '';
  const type = (declared.split(';')[0] ?? '').trim().toLowerCase();
  if (type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type)) return;
  const words =
    'Incompatible content types: the body must be application/json, another type is not supported';
  throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', words);
}

/** The version comes in a header, or as a parameter where headers cannot be set. */
export function versionHeader(context: RouteContext): string | undefined {
  return context.req.header('a2a-version') ?? context.req.query('A2A-Version');
}

/** Tells the caller which of the extensions that it asked for are active. Called before the answer is written. */
export function announceExtensions(
  { env }: RouteContext,
  { version }: Dialect,
  active: readonly string[],
): void {
  if (active.length === 0) return;
  env.outgoing.setHeader(version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions', active.join(', '));
}

/** What a request asks for, once its parameters were read. */
export function callOf(context: RouteContext, dialect: Dialect, params: JsonObject): Call {
  const lastEventId = context.req.header('last-event-id');
  const principal = context.get('principal');
  return {
    dialect,
    params,
    principal,
    isNamed:
      principal.via.length > 0 && readHandedOn(context.req.header(principalHeader) ?? '') !== undefined,
    awaitsPrincipal: context.get('awaitsPrincipal') ?? false,
    checkPrincipal: context.get('kit')?.checkPrincipal,
    current: (principal) => context.get('kit')?.accounts?.current(principal) ?? principal,
    extensions: declaredExtensions(context),
    ...(lastEventId !== undefined && { lastEventId }),
  };
}

/** The extensions that a caller wants to be active: 0.3 has another name for the header. */
export function declaredExtensions({ req }: Pick<RequestContext, 'req'>): string[] {
  const declared = req.header('a2a-extensions') ?? req.header('x-a2a-extensions');
  return declared === undefined ? [] : declared.split(',').map((uri) => uri.trim());
}
