import { ModelError, type Tool, toModelError } from '@trunkline/llm';
import {
  jsonSchema,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
} from 'ai';
import { z } from 'zod';
import type { FinishReason, ReasoningDelta, TextDelta } from './events.ts';
import type { TurnOptions } from './options.ts';
import { toPlainJson } from './plain-json.ts';

/** A tool call as the model made it. */
export interface RequestedCall {
  toolCallId: string;
  name: string;
  input: unknown;
  /** Set when the arguments were no JSON; `input` then holds them as text. */
  unreadable?: true;
}

/** One answer of the model. */
export interface ModelStep {
  calls: RequestedCall[];
  /** The answer as it goes into the conversation; empty when the model said nothing. */
  messages: ModelMessage[];
  finishReason: FinishReason;
  usage: LanguageModelUsage | undefined;
  /** The model that answered, as the endpoint names it. */
  model: string | undefined;
}

/** What the model is called with. */
interface StepRequest extends Pick<TurnOptions, 'model' | 'instructions' | 'sessionId'> {
  messages: ModelMessage[];
  tools: ToolSet;
  signal: AbortSignal;
}

/** Calls the model once and streams what it says; tools are offered but not run here. Fails with a ModelError. */
export async function* streamStep(
  request: StepRequest,
  say: (text: string) => TextDelta,
): AsyncGenerator<TextDelta | ReasoningDelta, ModelStep> {
  const result = start(request);
  const step: ModelStep = {
    calls: [],
    messages: [],
    finishReason: 'other',
    usage: undefined,
    model: undefined,
  };
  try {
    for await (const part of result.stream) {
      if (part.type === 'text-delta') yield say(part.text);
      else if (part.type === 'reasoning-delta') yield { type: 'reasoning-delta', text: part.text };
      else note(part, step);
    }
    const said = await result.responseMessages;
    return { ...step, messages: toPlainJson(said.filter((message) => message.role === 'assistant')) };
  } catch (error) {
    throw toModelError(error);
  }
}

function start({ model, instructions, messages, tools, sessionId, signal }: StepRequest) {
  return streamText({
    model,
    messages,
    tools,
    abortSignal: signal,
    maxRetries: 0,
    runtimeContext: { sessionId },
    telemetry: { functionId: 'turn', includeRuntimeContext: { sessionId: true } },
    // Errors are read from the stream; without this the SDK prints them, prompts included.
    onError: () => undefined,
    ...(instructions === '' ? {} : { instructions }),
  });
}

/** The tools without their functions: arguments are checked where the tool is run, so that the model can read what was wrong. */
export function offerTools(tools: readonly Tool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [name, { description, inputSchema: schemaOf(input) }]),
  );
}

/** A tool is offered in every turn; writing its schema once saves a good part of a turn's work. */
const schemas = new WeakMap<z.ZodType, ReturnType<typeof jsonSchema>>();

function schemaOf(input: z.ZodType): ReturnType<typeof jsonSchema> {
  const known = schemas.get(input);
  if (known !== undefined) return known;
  const schema = jsonSchema(parametersOf(input));
  schemas.set(input, schema);
  return schema;
}

function parametersOf(input: z.ZodType): Parameters<typeof jsonSchema>[0] {
  return z.toJSONSchema(input, { io: 'input', target: 'draft-7', unrepresentable: 'any' }) as Parameters<
    typeof jsonSchema
  >[0];
}

function note(part: TextStreamPart<ToolSet>, step: ModelStep): void {
  switch (part.type) {
    case 'tool-call':
      step.calls.push(requested(part));
      return;
    case 'finish-step':
      step.usage = part.usage;
      step.model = part.response.modelId;
      step.finishReason = finishReasonOf(part.finishReason);
      return;
    case 'error':
      throw part.error;
    case 'abort':
      throw new ModelError('aborted');
    default:
  }
}

function requested(part: Extract<TextStreamPart<ToolSet>, { type: 'tool-call' }>): RequestedCall {
  const { toolCallId, toolName: name, input } = part;
  const isUnreadable = part.invalid === true && typeof input === 'string';
  return { toolCallId, name, input: toPlainJson(input), ...(isUnreadable ? { unreadable: true } : {}) };
}

function finishReasonOf(reason: string): FinishReason {
  if (reason === 'error') throw new ModelError('server-error');
  if (reason === 'interrupted') throw new ModelError('interrupted');
  return reason === 'stop' || reason === 'length' || reason === 'content-filter' ? reason : 'other';
}
