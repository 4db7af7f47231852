import { ownerKey, type Principal } from '@trunkline/identity';
import { costOf, demoNotice, type ModelGateway, silenceLimitMs } from '@trunkline/llm';
import {
  compactionNote,
  resumeTurn,
  runTurn,
  type TurnEvent,
  type TurnOptions,
  type TurnPolicy,
  type Usage,
} from '@trunkline/loop';
import type { CheckedAnswer } from '../api-types.ts';
import { normaliseCitations } from '../citations/forms.ts';
import type { SearchAggregator } from '../sources/search-aggregator.ts';
import { TurnCharts } from './charts.ts';
import type { AnswerCheckDeps } from './checks.ts';
import type { ChatRequest, ConversationStore } from './conversations.ts';
import { createChatTools, TurnSources } from './tools.ts';

/** The lines that a chat stream is made of. */
const lines = {
  text: (text: string) => line('0', text),
  reasoning: (text: string) => line('g', text),
  toolCall: (call: ToolCallLine) => line('2', [{ type: 'tool_call', ...call }]),
  note: (text: string) => line('2', [{ type: 'note', text }]),
  checked: (answer: CheckedAnswer) => line('8', [{ type: 'citations', ...answer }]),
  clarification: (question: string) => line('8', [{ type: 'clarification', question }]),
  finish: (finishReason: string, { inputTokens, outputTokens, estimated }: Usage) => {
    const usage = { promptTokens: inputTokens, completionTokens: outputTokens };
    return line('d', { finishReason, usage: { ...usage, ...(estimated && { estimated }) } });
  },
  error: (message: string) => line('e', { finishReason: 'error', message }),
};

export interface ChatDeps extends AnswerCheckDeps {
  gateway: ModelGateway;
  aggregator: SearchAggregator;
  conversations: ConversationStore;
  /** RESEARCH_MODEL_TIMEOUT_S. */
  turnTimeoutMs: number | undefined;
  policy?: TurnPolicy | undefined;
  logger: { warn(fields: object, message: string): void };
}

/** Tool-call steps of one turn; the answer comes after them. */
const TOOL_STEPS = 5;

const INSTRUCTIONS = `You answer questions with the help of search. Search before you state facts about the world, and base the answer on what the results say.
Each result has a number: cite the results you use by it, as [1] or [2][5], behind what they say. The reader sees the list of results beside your answer, so do not list them.
Ask for clarification, once, only when the request has several meanings that lead to different answers. Say so when the results do not answer the question.`;

const CHART_RULE = 'Draw charts only of figures that the results state: each figure is checked against them.';

/** One turn of the chat, and what it finds on the way. */
export interface ChatTurn {
  events: AsyncIterable<TurnEvent>;
  sources: TurnSources;
  charts?: TurnCharts | undefined;
  /** What the user wrote. */
  questions: readonly string[];
  /** True once the turn has made all the tool-call steps it may. */
  isOver(): boolean;
}

export type ChatModel = ReturnType<ModelGateway['languageModel']>;

interface AskedChat extends ChatRequest {
  principal: Principal;
  /** Where charts are put; without it the model is offered none. */
  charts?: TurnCharts;
  instructions?: string;
  /** The model with the settings of the caller. */
  withSettings?: (model: ChatModel) => ChatModel;
}

/** Starts a turn, or goes on with the one that waits for an answer under the id of the conversation. */
export function startTurn(
  { messages, id, principal, charts, instructions = '', withSettings = (model) => model }: AskedChat,
  { gateway, aggregator, conversations, turnTimeoutMs, policy }: ChatDeps,
  signal: AbortSignal,
): ChatTurn {
  const model = withSettings(gateway.languageModel());
  const limited = limitToolSteps(model, TOOL_STEPS);
  const sources = new TurnSources();
  const options: TurnOptions = {
    model: limited.model,
    instructions: [INSTRUCTIONS, charts && CHART_RULE, instructions].filter(Boolean).join('\n\n'),
    tools: createChatTools({
      aggregator,
      owner: ownerKey(principal),
      sources,
      charts,
      isOver: limited.isOver,
    }),
    limits: {
      steps: TOOL_STEPS + 1,
      toolTimeoutMs: 60_000,
      turnTimeoutMs: silenceLimitMs(model, turnTimeoutMs),
    },
    sessionId: id ?? 'chat',
    principal,
    policy,
    cost: (model, tokens) => costOf(gateway.price(model), tokens),
    signal,
  };
  const waiting = id === undefined ? undefined : conversations.get(id, principal)?.checkpoint;
  const events =
    waiting === undefined
      ? runTurn({ ...options, messages })
      : resumeTurn({ ...options, checkpoint: waiting, answer: messages.at(-1)?.content ?? '' });
  const questions = messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []));
  return { events, sources, charts, questions, isOver: limited.isOver };
}

/** The answer to a conversation as lines of the chat stream. */
export async function* answerChat(
  request: AskedChat,
  deps: ChatDeps,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { messages, id, principal } = request;
  const charts = new TurnCharts();
  const turn = startTurn({ ...request, charts }, deps, signal);
  const save = (text: string, checkpoint?: unknown, checked?: CheckedAnswer) => {
    if (id === undefined) return;
    const sources = turn.sources.all();
    const troubles = turn.sources.troubles();
    const said = {
      role: 'assistant' as const,
      content: text,
      ...(sources.length > 0 && { sources }),
      ...(troubles.length > 0 && { troubles }),
      ...(charts.all().length > 0 && { charts: charts.all() }),
      ...(checked && { checked }),
    };
    deps.conversations.save(id, text === '' ? messages : [...messages, said], checkpoint, principal);
  };
  save('');
  const update: typeof save = (...said) => {
    // Somebody may have deleted the conversation while the answer was made.
    if (id !== undefined && deps.conversations.get(id, principal) !== undefined) save(...said);
  };
  yield* speak(turn, update, (text) => checkTurn(turn, text, deps, { signal, principal }));
}

/** Checks the answer of a turn; undefined where it states nothing that could be checked. An answer outlives a failing check. */
export async function checkTurn(
  { sources, charts, questions }: Pick<ChatTurn, 'sources' | 'charts' | 'questions'>,
  text: string,
  deps: AnswerCheckDeps & Pick<ChatDeps, 'logger'>,
  asked: { signal: AbortSignal; principal: Principal },
): Promise<CheckedAnswer | undefined> {
  // The demo model's word about itself is no statement of the answer.
  const [answer, notice] = text.endsWith(demoNotice)
    ? [text.slice(0, -demoNotice.length).trimEnd(), `\n\n${demoNotice}`]
    : [text, ''];
  // Without a search and without a citation there is nothing that the answer could rest on.
  if (sources.all().length === 0 && !/\[\d{1,3}\]/.test(normaliseCitations(answer))) return undefined;
  const { checkAnswer } = await import('./checks.ts');
  // The policy's budgets are booked by the model itself.
  try {
    const drawn = charts?.all() ?? [];
    const ask = { ...asked, onSpent: () => undefined };
    const checked = await checkAnswer(answer, drawn, sources.stored(), deps, ask, questions);
    const claims = [checked, ...(checked.figures ?? [])].flatMap((each) => each.claims);
    return claims.length > 0 ? { ...checked, text: checked.text + notice } : undefined;
  } catch (error) {
    asked.signal.throwIfAborted();
    deps.logger.warn({ err: error }, 'failed to check an answer; it is shown unchecked');
    return undefined;
  }
}

/** An answer that is broken off is saved as far as it came. */
async function* speak(
  { events, sources, charts, isOver }: ChatTurn,
  save: (text: string, checkpoint?: unknown, checked?: CheckedAnswer) => void,
  check: (text: string) => Promise<CheckedAnswer | undefined>,
): AsyncGenerator<string> {
  const inputs = new Map<string, unknown>();
  let text = '';
  let isSaved = false;
  const finish = (whole: string, checkpoint?: unknown) => {
    save(whole, checkpoint);
    isSaved = true;
  };
  try {
    for await (const event of events) {
      if (event.type === 'text-delta') {
        text += event.text;
        yield lines.text(event.text);
      } else if (event.type === 'reasoning-delta') yield lines.reasoning(event.text);
      else if (event.type === 'compaction') yield lines.note(compactionNote(event));
      else if (event.type === 'wait') yield lines.note(event.message);
      else if (event.type === 'tool-start') inputs.set(event.toolCallId, event.input);
      else if (event.type === 'tool-end' && !isOver())
        yield toolLine(
          event,
          charts?.drawnBy(event.toolCallId) ?? inputs.get(event.toolCallId),
          sources.troubles(),
        );
      else if (event.type === 'pause') {
        finish(event.question, event.checkpoint);
        yield lines.clarification(event.question);
        yield lines.finish('stop', event.usage);
      } else if (event.type === 'end') {
        // Saved first: whoever leaves now still finds the answer.
        finish(event.text);
        const checked = await check(event.text);
        if (checked !== undefined) {
          save(event.text, undefined, checked);
          yield lines.checked(checked);
        }
        yield lines.finish(event.finishReason === 'length' ? 'length' : 'stop', event.usage);
      } else if (event.type === 'error') {
        finish(event.text);
        yield lines.error(event.message);
      }
    }
  } finally {
    if (!isSaved) save(text);
  }
}

function toolLine(
  { name, result, failed }: Extract<TurnEvent, { type: 'tool-end' }>,
  args: unknown,
  troubles: string[],
): string {
  const call = { toolName: name, args: args ?? {}, ...(troubles.length > 0 && { troubles }) };
  if (failed) return lines.toolCall({ ...call, result: [], error: result });
  const parsed: unknown = JSON.parse(result);
  return lines.toolCall({ ...call, result: Array.isArray(parsed) ? parsed : [parsed] });
}

/** One line of the chat stream: a prefix that says what it is, and JSON. */
function line(prefix: string, value: unknown): string {
  return `${prefix}:${JSON.stringify(value)}\n`;
}

interface ToolCallLine {
  toolName: string;
  args: unknown;
  result: unknown[];
  error?: string;
  /** Which services could not be asked so far, in words. */
  troubles?: string[];
}

type LanguageModel = ReturnType<ModelGateway['languageModel']>;

/** A model that is offered no tools once it has had its steps, so that the turn ends with an answer. */
function limitToolSteps(model: LanguageModel, most: number): { model: LanguageModel; isOver(): boolean } {
  let calls = 0;
  return {
    isOver: () => calls > most,
    model: {
      ...model,
      doGenerate: (options) => model.doGenerate(options),
      doStream: ({ tools, toolChoice, ...options }) => {
        calls += 1;
        if (calls > most || tools === undefined) return model.doStream(options);
        return model.doStream({ ...options, tools, ...(toolChoice !== undefined && { toolChoice }) });
      },
    },
  };
}
