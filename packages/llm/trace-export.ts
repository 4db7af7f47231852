import { OpenTelemetry } from '@ai-sdk/otel';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { type Attributes, context, propagation, trace } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { NodeTracerProvider, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { redact } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import { registerTelemetry, type Telemetry } from 'ai';
import type { Logger } from './retry.ts';

interface TraceTarget {
  host: string;
  publicKey: string;
  secretKey: string;
  /** Values that no span may show, as they are now. */
  secrets: () => readonly string[];
  logger: Logger | undefined;
}

interface Export {
  /** The secrets of each user. */
  users: Set<TraceTarget>;
  stop(): Promise<void>;
}

const requestLimitSeconds = 5;
const flushLimitMs = 2_000;
const silenceMs = 60_000;
/** Whatever is shorter may be a placeholder such as `none`, which prompts hold as a word. */
const shortestSecret = 8;

// The AI SDK's telemetry is one for the whole process, so services in one process share an export.
const exportsByTarget = new Map<string, Export>();

/** Starts sending traces to the target, or joins who does so already. Returns how to leave; the last one out flushes. */
export function joinExport(target: TraceTarget): () => Promise<void> {
  const key = `${target.host} ${target.publicKey}`;
  const running = exportsByTarget.get(key) ?? startExport(target);
  running.users.add(target);
  exportsByTarget.set(key, running);
  let left = false;
  return async () => {
    if (left) return;
    left = true;
    running.users.delete(target);
    if (running.users.size > 0) return;
    exportsByTarget.delete(key);
    await running.stop();
  };
}

function startExport(target: TraceTarget): Export {
  const processor = new LangfuseSpanProcessor({
    baseUrl: target.host,
    publicKey: target.publicKey,
    secretKey: target.secretKey,
    timeout: requestLimitSeconds,
  });
  const users = new Set<TraceTarget>();
  const secrets = () => [...users].flatMap((user) => user.secrets());
  const provider = new NodeTracerProvider({ spanProcessors: [secretHider(secrets), processor] });
  provider.register();
  setGlobalErrorHandler(failureReporter(target));
  const telemetry = new OpenTelemetry({
    tracer: provider.getTracer('ai'),
    usage: true,
    enrichSpan: sessionOf,
  });
  registerTelemetry(telemetry);
  return { users, stop: () => stopExport(telemetry, provider, target.logger) };
}

/** Spans hold whole prompts, answers and errors. Those that come behind it get them without secrets, as logs do. */
function secretHider(secrets: () => readonly string[]): SpanProcessor {
  return {
    onStart: () => undefined,
    onEnd(span) {
      const known = secrets().filter((secret) => secret.trim().length >= shortestSecret);
      for (const texts of textsOf(span)) Object.assign(texts, redact({ ...texts }, known));
    },
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
}

/** Where the texts of a span stand: what was asked and said, what went wrong, and how it ended. */
function textsOf({ attributes, events, links, status }: ReadableSpan): object[] {
  const besides = [...events, ...links].map((part) => part.attributes ?? {});
  return [attributes, ...besides, status];
}

/** Spans of a turn that has `sessionId` or `userId` in its runtime context are grouped by them. */
function sessionOf({
  runtimeContext = {},
}: {
  runtimeContext: Record<string, unknown> | undefined;
}): Attributes {
  const { sessionId, userId } = runtimeContext;
  return {
    ...(typeof sessionId === 'string' ? { 'session.id': sessionId } : {}),
    ...(typeof userId === 'string' ? { 'user.id': userId } : {}),
  };
}

/** Says that traces are lost, at most once a minute. */
function failureReporter({ host, logger }: TraceTarget): (error: unknown) => void {
  let quietUntil = 0;
  return (error) => {
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + silenceMs;
    const reason = errorMessage(error);
    logger?.warn(
      { host, reason },
      'failed to send traces: check TRACE_HOST, TRACE_PUBLIC_KEY and TRACE_SECRET_KEY',
    );
  };
}

async function stopExport(
  telemetry: Telemetry,
  provider: NodeTracerProvider,
  logger: Logger | undefined,
): Promise<void> {
  unregister(telemetry);
  const sent = await succeedsInTime(provider.shutdown(), flushLimitMs);
  if (!sent) logger?.warn({}, 'failed to flush traces in time: the last ones may be lost');
  if (exportsByTarget.size === 0) forgetGlobals();
}

async function succeedsInTime(work: Promise<void>, limitMs: number): Promise<boolean> {
  const outcome = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => outcome.resolve(false), limitMs);
  work.then(
    () => outcome.resolve(true),
    () => outcome.resolve(false),
  );
  const succeeded = await outcome.promise;
  clearTimeout(timer);
  return succeeded;
}

function unregister(telemetry: Telemetry): void {
  const registered = globalThis.AI_SDK_TELEMETRY_INTEGRATIONS;
  const place = registered?.indexOf(telemetry) ?? -1;
  if (place >= 0) registered?.splice(place, 1);
}

function forgetGlobals(): void {
  trace.disable();
  context.disable();
  propagation.disable();
}
