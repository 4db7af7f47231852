import { markOf } from '@trunkline/loop';
import { type CompletionRequest, openAiErrors, type RequestMessage, textOf } from '@trunkline/openai-api';
import type { Messages } from '../turns/session-store.ts';
import { type AnswerPart, parseArguments } from './outside-answers.ts';

/**
 * The caller stores the conversation, so nothing in it says what it was drawn from: results of its tools count as from
 * outside, and so do answers that a turn gave which read text from outside. Other answers do not: callers shorten them,
 * take them from other models and keep them for months, and an effect that is held here asks nobody.
 */
export async function conversationMessages(
  { messages }: CompletionRequest,
  isOutside: (part: AnswerPart) => boolean,
  userMessage: (entry: RequestMessage) => Promise<Messages[number]>,
): Promise<Messages> {
  const toolNames = new Map<string, string>();
  const unanswered = new Set<string>();
  const told: Messages = [];
  for (const [index, entry] of messages.entries()) {
    if (entry.role === 'tool') unanswered.delete(entry.tool_call_id ?? '');
    if (entry.role === 'user') requireAnswers(unanswered);
    for (const { id } of entry.tool_calls ?? []) unanswered.add(id);
    for (const call of entry.tool_calls ?? []) toolNames.set(call.id, call.function.name);
    if (entry.role === 'user') told.push(await userMessage(entry));
    if (entry.role === 'assistant') told.push(assistantMessage(entry, isOutside));
    if (entry.role !== 'tool') continue;
    told.push(toolMessage(entry, toolNames));
    // Results stand together, so their files follow the last of them.
    const isLast = messages[index + 1]?.role !== 'tool';
    const files = isLast ? filesOfResults(messages, index) : undefined;
    if (files !== undefined) told.push(await userMessage(files));
  }
  requireAnswers(unanswered);
  return told;
}

/** Endpoints refuse such a conversation in many ways, and programs take some for a reason to try again. */
function requireAnswers([call]: ReadonlySet<string>): void {
  if (call === undefined) return;
  const message = `there is no output for the call "${call}": send it right behind the call, or leave the call out`;
  throw openAiErrors.invalid_request_error({ message });
}

/** Models take pictures and files from the user alone. `last` is that of the results. */
function filesOfResults(messages: readonly RequestMessage[], last: number): RequestMessage | undefined {
  let first = last;
  while (messages[first - 1]?.role === 'tool') first -= 1;
  const results = messages.slice(first, last + 1);
  const files = results.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type !== 'text') : [],
  );
  if (files.length === 0) return undefined;
  return { role: 'user', content: [{ type: 'text', text: 'What the tools returned:' }, ...files] };
}

function assistantMessage(
  entry: RequestMessage,
  isKnownOutside: (part: AnswerPart) => boolean,
): Messages[number] {
  const text = textOf(entry);
  const calls = (entry.tool_calls ?? []).map(({ id, function: called }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: called.name,
    input: parseArguments(called.arguments),
  }));
  const isOutside = entry.outside === true || isKnownOutside({ text, calls: entry.tool_calls ?? [] });
  return {
    role: 'assistant',
    ...(isOutside && markOf([{ kind: 'message', source: 'assistant' }])),
    content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls],
  };
}

function toolMessage(entry: RequestMessage, toolNames: ReadonlyMap<string, string>): Messages[number] {
  const toolCallId = entry.tool_call_id ?? '';
  const toolName = toolNames.get(toolCallId);
  if (toolName === undefined) {
    throw openAiErrors.invalid_request_error({
      message: `a tool message answers the call "${toolCallId}", which no assistant message before it made`,
    });
  }
  const output = { type: 'text' as const, value: textOf(entry) };
  const mark = markOf([{ kind: toolName, source: '' }]);
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output, ...mark }] };
}
