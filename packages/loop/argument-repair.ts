import { parseRelaxedJson, repairArguments, type Tool } from '@trunkline/llm';
import type { ModelMessage } from 'ai';
import { type ModelStep, type RequestedCall, schemaOf } from './model-step.ts';

/**
 * The step with the arguments of its calls mended as far as the schemas of the tools leave no doubt. Policy, people and
 * the conversation see the arguments with which the tool runs.
 */
export async function repairStep(step: ModelStep, tools: ReadonlyMap<string, Tool>): Promise<ModelStep> {
  const calls = await Promise.all(step.calls.map((call) => repairCall(call, tools.get(call.name))));
  if (calls.every((call, index) => call === step.calls[index])) return step;
  return { ...step, calls, messages: withInputs(step.messages, calls) };
}

async function repairCall(call: RequestedCall, tool: Tool | undefined): Promise<RequestedCall> {
  if (tool === undefined) return call;
  const { unreadable, ...readable } = call;
  const read = unreadable ? parseRelaxedJson(String(call.input)) : { value: call.input };
  if (read === undefined) return call;
  const fits = async (input: unknown) => (await tool.input.safeParseAsync(input)).success;
  if (await fits(read.value)) return unreadable ? { ...readable, input: read.value } : call;
  return { ...readable, input: repairArguments(read.value, schemaOf(tool.input).jsonSchema) };
}

function withInputs(messages: readonly ModelMessage[], calls: readonly RequestedCall[]): ModelMessage[] {
  const inputs = new Map(calls.map(({ toolCallId, input }) => [toolCallId, input]));
  return messages.map((message) => {
    if (message.role !== 'assistant' || typeof message.content === 'string') return message;
    const content = message.content.map((part) => {
      const input = part.type === 'tool-call' ? inputs.get(part.toolCallId) : undefined;
      return typeof input === 'object' && input !== null ? { ...part, input } : part;
    });
    return { ...message, content } as ModelMessage;
  });
}
