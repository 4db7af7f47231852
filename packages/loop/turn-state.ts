import { anonymous, joinOrigins, type Origin } from '@trunkline/identity';
import type { ModelMessage } from 'ai';
import type { CheckpointCall } from './checkpoint.ts';
import { attachedMessage, attachedParts, type Content, type Medium, withMedia } from './content/content.ts';
import { type Offered, ToolOffer } from './find-tools.ts';
import type { FinishReason, TurnOptions, Usage } from './options.ts';
import type { ToolDeps } from './prepare-call.ts';
import { borderOf, fenceInstructions, fenceMessages, markOf, originsIn, originsOfTool } from './taint.ts';
import { addUsage, noUsage, spentBudget, spentUsd } from './usage.ts';

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
  /** All its tools. */
  offer: ToolOffer;
  /** Those that the model is told of in the next step. */
  offered: Offered;
  /** Tokens that the model takes, as far as is known. */
  window: number | undefined;
  /** What it was taken to be after the endpoint refused a prompt of this turn. */
  shrunk?: number | undefined;
  /** As the model is given them: cut where the window is too small for them. */
  instructions: string;
  deps: ToolDeps;
  /** What the model turned out not to take. */
  untaken: Set<Medium>;
  /** Marks text from outside for the model, from the first such text on; that of the conversation. */
  border?: string;
  /** Messages as the model gets them, with their fences. */
  fenced: WeakMap<ModelMessage, ModelMessage>;
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

export function createTurn(
  options: TurnOptions,
  signal: AbortSignal,
  state: TurnState,
  deps: ToolDeps,
): Turn {
  const { tools, instructions, requiredTool } = options;
  const offer = new ToolOffer(tools, requiredTool);
  const offered = offer.within(undefined, []);
  return {
    state,
    options,
    signal,
    offer,
    offered,
    window: undefined,
    instructions,
    deps,
    untaken: new Set(),
    fenced: new WeakMap(),
  };
}

/**
 * The call with the answer as its result. What a tool got from outside is marked, whoever ran it; so is what a program
 * says whose command came from a turn that had read such text (`read`; undefined for a call that was not run).
 */
export async function answeredCall(
  call: CheckpointCall,
  result: string,
  { tools, principal, model, signal }: TurnOptions,
  read: readonly Origin[] | undefined,
  contents: readonly Content[] = [],
): Promise<CheckpointCall> {
  const tool = tools.find(({ name }) => name === call.name);
  const isProgram = tool?.effects.includes('executes') === true;
  const origins =
    tool && read ? joinOrigins(originsOfTool(tool, call.input, principal), isProgram ? read : []) : [];
  const attached = await attachedParts(contents, model, signal);
  return {
    ...call,
    result,
    ...(origins.length > 0 && { origins }),
    ...(attached.length > 0 && { attached }),
  };
}

/** Puts the results of the last calls into the conversation. */
export function settle(state: TurnState): void {
  if (state.calls.length === 0) return;
  const content = state.calls.map(
    ({ toolCallId, name, result = 'Error: the turn was stopped before this was asked.', origins, files }) => {
      const output = { type: 'text' as const, value: result };
      const part = { type: 'tool-result' as const, toolCallId, toolName: name, output, ...markOf(origins) };
      return withMedia(part, files);
    },
  );
  const attached = attachedMessage(state.calls);
  state.messages.push({ role: 'tool', content }, ...attached);
  const origins = state.calls.map((call) => call.origins);
  state.origins = joinOrigins(state.origins, ...origins, originsIn(attached));
  state.calls = [];
}

/** Where the descriptions of tools come from that others wrote and the operator has not accepted. */
export function describedOrigins({ tools, policy }: TurnOptions): readonly Origin[] {
  const described = new Set(tools.flatMap(({ describedIn = [] }) => describedIn));
  return [...described].filter((each) => !policy?.isAccepted?.(each));
}

/** What the model reads: text from outside stands in a fence, and the instructions say what that means. */
export function promptOf(turn: Turn) {
  const { instructions, fenced } = turn;
  const { messages, origins } = turn.state;
  if (origins.length === 0) return { messages, instructions };
  turn.border ??= borderOf(messages, turn.options.principal ?? anonymous);
  const { border } = turn;
  const words = [instructions, fenceInstructions(border)].filter((text) => text !== '');
  return { messages: fenceMessages(messages, border, fenced), instructions: words.join('\n\n') };
}

/** Adds a call of a model to the turn, and its price to the budgets. */
export function bookUsage(
  call: Parameters<typeof addUsage>[1],
  state: TurnState,
  { cost, policy, principal = anonymous }: TurnOptions,
): void {
  const before = spentUsd(state.usage);
  state.usage = addUsage(state.usage, call, cost);
  policy?.pay?.(principal, policy.agent, spentUsd(state.usage) - before);
}

export interface ReachedLimit {
  finishReason: FinishReason;
  words: string;
}

/** Why the turn may not ask the model once more. */
export function reachedLimit({ state, options, deps }: Turn): ReachedLimit | undefined {
  const { limits, policy, principal = anonymous } = options;
  const outOfMoney = policy?.outOfMoney?.(principal, policy.agent);
  if (outOfMoney !== undefined) {
    return {
      finishReason: 'budget',
      words: `I stopped because ${outOfMoney}. Try again later, or ask the operator to raise the budget.`,
    };
  }
  const spent = spentBudget(state.usage, limits);
  if (spent !== undefined) {
    return {
      finishReason: 'budget',
      words: `I stopped because the budget of this turn is spent (${spent}). Ask me to go on, or raise the budget.`,
    };
  }
  const { stuckOn } = deps.repeated;
  if (stuckOn !== undefined) {
    return {
      finishReason: 'steps',
      words: `I stopped because I called ${stuckOn} again and again with the same arguments. Ask me another way, or set LLM_MODEL to another model.`,
    };
  }
  if (state.steps < limits.steps) return undefined;
  return {
    finishReason: 'steps',
    words: `I stopped after ${state.steps} steps without getting to the end. Ask me to go on, or allow more steps.`,
  };
}
