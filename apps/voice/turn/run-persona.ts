import type { Tool } from '@trunkline/llm';
import { type RunTurnOptions, runTurn, type TurnEvent } from '@trunkline/loop';
import type { Persona } from './persona.ts';

export type ModelMessages = RunTurnOptions['messages'];
export type ModelMessage = ModelMessages[number];

export interface PersonaTurn {
  messages: ModelMessages;
  sessionId: string;
  signal: AbortSignal;
  /** Instead of the persona's own, wrapped. */
  tools?: readonly Tool[];
}

/** Of tools that name no limit of their own. */
export const toolTimeoutMs = 90_000;
const limits = { steps: 8, toolTimeoutMs, turnTimeoutMs: 300_000 };

/** One turn of a persona, written or spoken: the same model, instructions, tools and limits. */
export function runPersona(
  { model, instructions, tools, principal }: Persona,
  turn: PersonaTurn,
): AsyncGenerator<TurnEvent, void> {
  return runTurn({ model, instructions, tools, limits, principal, ...turn });
}
