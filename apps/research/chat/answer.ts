import type { ModelGateway } from '@trunkline/llm';
import { resumeTurn, runTurn, type TurnEvent, type TurnOptions } from '@trunkline/loop';
import type { SearchDesk } from '../sources/desk.ts';
import type { ConversationStore } from './conversations.ts';
import { lines } from './lines.ts';
import type { ChatMessage, ChatRequest } from './request.ts';
import { limitToolSteps } from './step-limit.ts';
import { createChatTools } from './tools.ts';

export interface ChatParts {
  gateway: ModelGateway;
  desk: SearchDesk;
  conversations: ConversationStore;
  turnTimeoutMs: number;
}

/** Tool-call steps of one turn; the answer comes after them. */
const TOOL_STEPS = 5;

const INSTRUCTIONS = `You answer questions with the help of search. Search before you state facts about the world, and base the answer on what the results say.
Cite the results you use as [1], [2] in the order in which you name them, and end with a list of them: number, title and address.
Ask for clarification, once, only when the request has several meanings that lead to different answers. Say so when the results do not answer the question.`;

/** The answer to a conversation as lines of the chat stream. */
export async function* answerChat(
  { messages, id }: ChatRequest,
  parts: ChatParts,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { gateway, desk, conversations, turnTimeoutMs } = parts;
  const limited = limitToolSteps(gateway.languageModel(), TOOL_STEPS);
  const options: TurnOptions = {
    model: limited.model,
    instructions: INSTRUCTIONS,
    tools: createChatTools({ desk, isOver: limited.isOver }),
    limits: { steps: TOOL_STEPS + 1, toolTimeoutMs: 60_000, turnTimeoutMs },
    sessionId: id ?? 'chat',
    signal,
  };
  const waiting = id === undefined ? undefined : conversations.get(id)?.checkpoint;
  const turn =
    waiting === undefined
      ? runTurn({ ...options, messages })
      : resumeTurn({ ...options, checkpoint: waiting, answer: messages.at(-1)?.content ?? '' });
  if (id !== undefined) conversations.save(id, messages, undefined);
  yield* speak(turn, limited.isOver, (text, checkpoint) => {
    if (id !== undefined) conversations.save(id, [...messages, ...said(text)], checkpoint);
  });
}

function said(text: string): ChatMessage[] {
  return text === '' ? [] : [{ role: 'assistant', content: text }];
}

async function* speak(
  turn: AsyncIterable<TurnEvent>,
  isOver: () => boolean,
  save: (text: string, checkpoint?: unknown) => void,
): AsyncGenerator<string> {
  const inputs = new Map<string, unknown>();
  for await (const event of turn) {
    if (event.type === 'text-delta') yield lines.text(event.text);
    else if (event.type === 'tool-start') inputs.set(event.toolCallId, event.input);
    else if (event.type === 'tool-end' && !isOver()) yield toolLine(event, inputs.get(event.toolCallId));
    else if (event.type === 'pause') {
      save(event.question, event.checkpoint);
      yield lines.clarification(event.question);
      yield lines.finish('stop', event.usage);
    } else if (event.type === 'end') {
      save(event.text);
      yield lines.finish(event.finishReason === 'length' ? 'length' : 'stop', event.usage);
    } else if (event.type === 'error') {
      save(event.text);
      yield lines.error(event.message);
    }
  }
}

function toolLine({ name, result, failed }: Extract<TurnEvent, { type: 'tool-end' }>, args: unknown): string {
  if (failed) return lines.toolCall({ toolName: name, args: args ?? {}, result: [], error: result });
  const parsed: unknown = JSON.parse(result);
  return lines.toolCall({
    toolName: name,
    args: args ?? {},
    result: Array.isArray(parsed) ? parsed : [parsed],
  });
}
