import {
  createModelGateway,
  defineTool,
  type ModelGatewayOptions,
  type Tool,
  type ToolContext,
} from '@trunkline/llm';
import { type ModelScript, type ModelServer, startModelServer } from '@trunkline/testing';
import { afterEach } from 'vitest';
import { z } from 'zod';
import type { EndEvent, ErrorEvent, PauseEvent, RunTurnOptions, TurnEvent } from './options.ts';
import { runTurn } from './turn.ts';

const servers: ModelServer[] = [];

/** Stops, after each test, the servers it started. Call it once per test file. */
export function stopServersAfterEach(): void {
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });
}

export async function serve(script: ModelScript): Promise<ModelServer> {
  const server = await startModelServer({ script });
  servers.push(server);
  return server;
}

export const limits = { steps: 8, toolTimeoutMs: 10_000, turnTimeoutMs: 15_000 };

/** The options of a turn over a fake endpoint, reached through the real gateway. */
export function turnOptions(
  server: ModelServer,
  more: Partial<RunTurnOptions> = {},
  gateway: ModelGatewayOptions = {},
): RunTurnOptions {
  const model = createModelGateway({
    url: server.url,
    model: 'test-model',
    maxRetries: 0,
    ...gateway,
  }).languageModel();
  return {
    model,
    instructions: 'Be brief.',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    limits,
    sessionId: 'session-1',
    ...more,
  };
}

export async function collect(turn: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of turn) events.push(event);
  return events;
}

/** Runs a whole turn against a script. */
export async function play(
  script: ModelScript,
  more: Partial<RunTurnOptions> = {},
  gateway: ModelGatewayOptions = {},
) {
  const server = await serve(script);
  const events = await collect(runTurn(turnOptions(server, more, gateway)));
  return { server, events, last: events.at(-1) };
}

export function ended(event: TurnEvent | undefined): EndEvent {
  if (event?.type !== 'end') throw new Error(`The turn should end, but: ${JSON.stringify(event)}`);
  return event;
}

export function paused(event: TurnEvent | undefined): PauseEvent {
  if (event?.type !== 'pause') throw new Error(`The turn should pause, but: ${JSON.stringify(event)}`);
  return event;
}

export function failed(event: TurnEvent | undefined): ErrorEvent {
  if (event?.type !== 'error') throw new Error(`The turn should fail, but: ${JSON.stringify(event)}`);
  return event;
}

/** The results of tool calls, by name, in the order they came. */
export function resultsOf(events: TurnEvent[]): [string, string][] {
  return events.flatMap((event): [string, string][] =>
    event.type === 'tool-end' ? [[event.name, event.result]] : [],
  );
}

export function spokenIn(events: TurnEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

export const add = defineTool({
  name: 'add',
  effects: ['reads'],
  description: 'Adds two numbers.',
  input: z.object({ left: z.number(), right: z.number().default(1) }),
  execute: async ({ left, right }) => String(left + right),
});

export const askHuman = defineTool({
  name: 'ask_human',
  effects: ['reads'],
  description: 'Asks the human.',
  input: z.object({ question: z.string() }),
  pause: true,
});

/** A tool that takes anything. */
export function toolOf(
  name: string,
  execute: (input: unknown, signal: AbortSignal, context: ToolContext) => Promise<string>,
  more: { timeoutMs?: number } = {},
): Tool {
  return defineTool({
    name,
    description: name,
    effects: ['reads'],
    input: z.unknown(),
    execute: (input, context) => execute(input, context.signal, context),
    ...more,
  });
}

/** A model answer that calls tools. */
export function calling(...calls: [name: string, input: unknown][]) {
  return { toolCalls: calls.map(([name, input]) => ({ name, arguments: input })) };
}

/** The tool results that the model was last shown, in order. */
export function toolMessages(server: ModelServer): unknown[] {
  const messages = server.chats().at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}
