import { setTimeout as delay } from 'node:timers/promises';
import { contextWindowOf, createModelGateway, defineTool } from '@trunkline/llm';
import { FakeClock, startWireServer, type Wire, type WireOptions, waitFor } from '@trunkline/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import type { EndEvent, ErrorEvent, TurnEvent } from './options.ts';
import { collect } from './turn.suite.ts';
import { runTurn } from './turn.ts';

/** What a capture makes of a turn, as far as it must not depend on how the bytes were cut. */
export interface PlayedTurn {
  events: TurnEvent[];
  last: EndEvent | ErrorEvent;
  reasoning: string;
  calls: { name: string; input: unknown }[];
  runs: number;
  requests: number;
  lastRequest: string;
}

/** Only a hang takes so long. */
const limits = { steps: 12, toolTimeoutMs: 120_000, turnTimeoutMs: 180_000 };

/** Plays a capture through the real gateway into a turn. Time passes only in the capture's silences and while nothing is asked. */
export async function playWire(wire: Wire, options: Omit<WireOptions, 'silence'> = {}): Promise<PlayedTurn> {
  const clock = new FakeClock('2026-01-01T00:00:00Z');
  const server = await startWireServer(wire, {
    ...options,
    silence: (seconds) => clock.advanceBy(seconds * 1000),
  });
  const helper = await startWireServer({ ...wire, answers: [], routes: {} });
  const time = passTime(clock, () => server.isBusy());
  const ran: PlayedTurn['calls'] = [];
  try {
    const timing = { now: clock.now, setTimer: clock.setTimer, random: () => 0.5 };
    const model = createModelGateway({ url: server.url, model: wire.model, timing }).languageModel();
    // A turn goes on without the window when a busy machine is slow to tell it.
    if (wire.routes !== undefined) await waitFor(() => contextWindowOf(model));
    const summaries = createModelGateway({ url: helper.url, model: 'helper' }).languageModel();
    const events = await collect(
      runTurn({
        model,
        instructions: 'Be brief.',
        messages: [...historyOf(wire), { role: 'user', content: wire.ask }],
        tools: toolsThat((name, input) => ran.push({ name, input })),
        limits,
        sessionId: 'session-1',
        files: {
          read: async () => undefined,
          describe: async () => '',
          content: async () => ({ type: 'text', text: '' }),
          store: async ({ name, mediaType, bytes }) => ({ id: name, name, mediaType, size: bytes.length }),
        },
        compaction: { model: summaries, tokens: 60_000, keepMessages: 6 },
      }),
    );
    const last = events.at(-1);
    if (last?.type !== 'end' && last?.type !== 'error')
      throw new Error(`unfinished: ${JSON.stringify(last)}`);
    const chats = server.chats();
    return {
      events,
      last,
      reasoning: events.map((event) => (event.type === 'reasoning-delta' ? event.text : '')).join(''),
      calls: ran,
      runs: ran.length,
      requests: chats.length,
      lastRequest: JSON.stringify(chats.at(-1)),
    };
  } finally {
    time.stop();
    await Promise.all([server.stop(), helper.stop()]);
  }
}

/** Everything that the capture says the person must get. */
export function expectTurn({ expect: wanted }: Wire, turn: PlayedTurn): void {
  const { last } = turn;
  if (wanted.error === undefined && wanted.says === undefined && wanted.runsAtMost === undefined)
    expect(last).toMatchObject({ type: 'end', finishReason: wanted.finish ?? 'stop' });
  if (wanted.error !== undefined) expectFailure(wanted.error, last);
  if (wanted.text !== undefined) expect(last.text).toBe(wanted.text);
  if (wanted.says !== undefined)
    expectWords(wanted.says, `${last.text} ${'message' in last ? last.message : ''}`);
  expect(turn.reasoning.trim()).toBe(wanted.reasoning ?? '');
  if (wanted.runsAtMost === undefined) expect(turn.calls).toEqual(wanted.calls ?? []);
  else expect(turn.runs).toBeLessThanOrEqual(wanted.runsAtMost);
  const told = turn.events;
  expect(told.flatMap((each) => ('file' in each ? [each.file.name] : []))).toEqual(wanted.files ?? []);
  expect(told.flatMap((each) => (each.type === 'citation' ? [each.citation] : []))).toEqual(
    wanted.citations ?? [],
  );
  for (const type of wanted.notes ?? []) expect(turn.events.map((event) => event.type)).toContain(type);
  if (wanted.requests !== undefined) expect(turn.requests).toBe(wanted.requests);
  for (const text of wanted.sends ?? []) expect(turn.lastRequest).toContain(text);
  for (const text of wanted.leavesOut ?? []) expect(turn.lastRequest).not.toContain(text);
  expectUsage(wanted.usage, last);
}

function expectFailure(error: { code?: string; says: string[] }, last: EndEvent | ErrorEvent): void {
  expect(last).toMatchObject({ type: 'error', ...(error.code === undefined ? {} : { code: error.code }) });
  expectWords(error.says, 'message' in last ? last.message : '');
}

function expectWords(words: readonly string[], text: string): void {
  for (const word of words) expect(text.toLowerCase()).toContain(word.toLowerCase());
}

function expectUsage(wanted: Wire['expect']['usage'], { usage }: EndEvent | ErrorEvent): void {
  if (wanted === undefined) return;
  if (wanted === 'estimated') expect(usage).toMatchObject({ estimated: true });
  else expect(usage).toMatchObject({ inputTokens: wanted.input, outputTokens: wanted.output });
}

/** Moves the clock to its next timer whenever no request is open, as a wait between two attempts would pass. */
function passTime(clock: FakeClock, isBusy: () => boolean) {
  const stopped = new AbortController();
  const quietTurns = 5;
  const run = async () => {
    for (let quiet = 0; !stopped.signal.aborted; ) {
      await delay(1);
      quiet = isBusy() || clock.pendingTimers === 0 ? 0 : quiet + 1;
      if (quiet < quietTurns) continue;
      quiet = 0;
      await clock.advanceBy(1000);
    }
  };
  void run();
  return { stop: () => stopped.abort() };
}

function historyOf({ history = 0 }: Wire) {
  const long = (who: string, number: number) =>
    `${who} ${number}: ${'lorem ipsum dolor sit amet '.repeat(38)}`;
  return Array.from({ length: history }, (_, index) => [
    { role: 'user' as const, content: long('question', index) },
    { role: 'assistant' as const, content: long('answer', index) },
  ]).flat();
}

function toolsThat(note: (name: string, input: unknown) => void) {
  return [
    defineTool({
      name: 'calculator',
      effects: ['reads'],
      description: 'Works out an arithmetic expression.',
      input: z.object({ expression: z.string() }),
      async execute(input) {
        note('calculator', input);
        return input.expression === '2+3' ? '2+3 = 5' : '6*7 = 42';
      },
    }),
    defineTool({
      name: 'get_forecast',
      effects: ['reads'],
      description: 'Tells the weather of the next days.',
      input: z.object({
        city: z.string(),
        days: z.number(),
        detailed: z.boolean().optional(),
        unit: z.enum(['celsius', 'fahrenheit']).optional(),
      }),
      async execute(input) {
        note('get_forecast', input);
        return 'Sunny.';
      },
    }),
  ];
}
