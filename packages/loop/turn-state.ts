import { anonymous, type Origin } from '@trunkline/identity';
import type { ModelMessage, ToolSet } from 'ai';
import type { CheckpointCall } from './checkpoint.ts';
import type { TurnOptions, Usage } from './options.ts';
import { fenceInstructions, fenceMessages } from './taint.ts';
import type { ToolDeps } from './tool-run.ts';
import { addUsage, noUsage } from './usage.ts';

/** What changes while a turn runs. */
export interface TurnState {
  messages: ModelMessage[];
  /** Calls of a step whose results are not yet in the conversation. */
  calls: CheckpointCall[];
  usage: Usage;
  steps: number;
  /** All text of this run. */
  text: string;
  /** Text of the step that is under way. */
  stepText: string;
  /** What the turn has read from outside the operator's trust. */
  origins: readonly Origin[];
  /** Calls that a person has allowed for the rest of the turn. */
  grants: Set<string>;
}

export interface Turn {
  state: TurnState;
  options: TurnOptions;
  signal: AbortSignal;
  /** The tools as the model is told of them. */
  offered: ToolSet;
  deps: ToolDeps;
  /** Marks text from outside for the model; another one each turn. */
  border: string;
}

export const emptyState = (): TurnState => ({
  messages: [],
  calls: [],
  usage: noUsage,
  steps: 0,
  text: '',
  stepText: '',
  origins: [],
  grants: new Set(),
});

/** What the model reads: text from outside stands in a fence, and the instructions say what that means. */
export function promptOf({ state: { messages, origins }, options: { instructions }, border }: Turn) {
  if (origins.length === 0) return { messages, instructions };
  const words = [instructions, fenceInstructions(border)].filter((text) => text !== '');
  return { messages: fenceMessages(messages, border), instructions: words.join('\n\n') };
}

/** Adds a call of a model to the turn, and its price to the budgets. */
export function bookUsage(
  call: Parameters<typeof addUsage>[1],
  state: TurnState,
  { cost, policy, principal = anonymous }: TurnOptions,
): void {
  const before = state.usage.costUsd ?? 0;
  state.usage = addUsage(state.usage, call, cost);
  policy?.pay?.(principal, policy.agent, (state.usage.costUsd ?? before) - before);
}
