import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type ModelServer, type ScriptedReply, startModelServer } from '@trunkline/testing';
import { createModelGateway } from './gateway.ts';
import type { ModelGatewayOptions } from './gateway-options.ts';
import type { ModelCall } from './meter.ts';
import type { ModelError } from './model-error.ts';
import type { Timing } from './retry.ts';

const servers: ModelServer[] = [];

export async function stopServers(): Promise<void> {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
}

export const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];

const shortestLimitMs = 60_000;

/** Time in the test's hand: waits are noted and over at once, limits strike when the test says so. */
export function fakeTiming() {
  const waits: number[] = [];
  const limits = new Map<object, { milliseconds: number; action: () => void }>();
  let now = Date.parse('2026-01-01T00:00:00Z');
  const timing: Timing = {
    now: () => now,
    random: () => 0.5,
    setTimer(milliseconds, action) {
      const timer = { cancel: () => void limits.delete(timer) };
      if (milliseconds >= shortestLimitMs) limits.set(timer, { milliseconds, action });
      else waits.push(milliseconds);
      if (milliseconds < shortestLimitMs) {
        now += milliseconds;
        queueMicrotask(action);
      }
      return timer;
    },
  };
  const strike = (milliseconds: number) => {
    const struck = [...limits.values()].filter((limit) => limit.milliseconds === milliseconds);
    for (const limit of struck) limit.action();
    return struck.length;
  };
  return { timing, waits, limits, strike };
}

export async function setUp(
  script: ScriptedReply[] | ((model: string) => ScriptedReply),
  options: ModelGatewayOptions = {},
) {
  const server = await startModelServer({
    script: Array.isArray(script) ? script : (request) => script(request.model),
  });
  servers.push(server);
  const { timing, ...time } = fakeTiming();
  const calls: ModelCall[] = [];
  const onCall = (call: ModelCall) => calls.push(call);
  const gateway = createModelGateway({ url: server.url, model: 'first', timing, onCall, ...options });
  return { ...time, server, calls, model: gateway.languageModel() };
}

export async function read(model: LanguageModelV4, abortSignal?: AbortSignal) {
  const parts: LanguageModelV4StreamPart[] = [];
  const { stream } = await model.doStream({ prompt, ...(abortSignal ? { abortSignal } : {}) });
  for await (const part of stream) parts.push(part);
  const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
  const errors = parts.flatMap((part) => (part.type === 'error' ? [part.error as ModelError] : []));
  return { parts, text, errors };
}

export async function collect<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}
