import { withCallSettings } from '@trunkline/llm';
import { compactionNote } from '@trunkline/loop';
import {
  type Answer,
  type AnswerEvent,
  CallNotes,
  type CompletionCall,
  type CompletionRequest,
  callSettings,
  type OpenAiApi,
  openAiErrors,
  RefusedParameters,
  samplingParameters,
  systemText,
  textOf,
} from '@trunkline/openai-api';
import type { CheckedAnswer } from '../api-types.ts';
import { type ChatDeps, type ChatModel, checkTurn, startTurn } from '../chat/answer.ts';
import type { ChatMessage } from '../chat/conversations.ts';
import type { NumberedResult } from '../chat/tools.ts';
import { changeText, citationState, scoreText } from '../citations/marks.ts';
import { researchErrors } from '../errors.ts';
import { oneLine } from '../text/sentences.ts';
import { type DeepResearchDeps, failureMessage, researchFor, topicOf } from './deep-research.ts';

export type ModelDeps = ChatDeps & DeepResearchDeps;

/** Search chat and deep research as models. */
export function researchModels(deps: ModelDeps): OpenAiApi {
  const models = new Map<string, Answer>([
    ['research-chat', (call) => answerByChat(call, deps)],
    ['research-deep', (call) => answerByResearch(call, deps)],
  ]);
  return {
    ownedBy: 'trunkline',
    models: () => [...models.keys()],
    findModel: (id) => models.get(id),
    images: false,
    // A report is made by many calls, each with settings of its own.
    parameters: (model) => (model === 'research-chat' ? samplingParameters : []),
    errors: [researchErrors.topic_unusable, researchErrors.too_many_jobs],
  };
}

/** The search chat; what of the answer does not hold and the sources that it cites are listed at its end. */
async function* answerByChat(
  { request, principal, signal }: CompletionCall,
  deps: ModelDeps,
): AsyncGenerator<AnswerEvent> {
  const refused = new RefusedParameters(request);
  const notes = new CallNotes();
  const settings = callSettings(request);
  const chat = {
    messages: conversationOf(request),
    instructions: systemText(request),
    principal,
    withSettings: (model: ChatModel) => withCallSettings(model, settings, (names) => refused.note(names)),
  };
  const turn = startTurn(chat, deps, signal);
  const { events, sources } = turn;
  for await (const event of events) {
    yield* refused.take();
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
      yield* notes.begin();
      yield event;
    } else if (event.type === 'tool-start') {
      yield* notes.begin();
      yield progress(searchProgress(event.input));
    } else if (event.type === 'compaction') yield* notes.add(compactionNote(event));
    else if (event.type === 'wait') {
      // What takes minutes is told at once.
      if (['loading', 'slow'].includes(event.code)) yield* notes.begin();
      yield* notes.add(event.message);
    } else if (event.type === 'pause') {
      yield { type: 'text-delta', text: event.question };
      yield { type: 'end', finishReason: 'stop', usage: event.usage };
    } else if (event.type === 'error' && event.code === 'content-filter')
      yield {
        type: 'end',
        finishReason: 'content_filter',
        text: event.text || event.message,
        usage: event.usage,
      };
    else if (event.type === 'error') throw openAiErrors.upstream_error({ message: event.message });
    else if (event.type === 'end') {
      const checked = await checkTurn(turn, event.text, deps, { signal, principal });
      const note = checkNote(checked);
      const ending = `${note}${sourceList(event.text, sources.citedIn(`${event.text}${note}`))}`;
      if (ending !== '') yield { type: 'text-delta', text: ending };
      const finishReason = event.finishReason === 'length' ? 'length' : 'stop';
      // Who does not stream gets the marks where they belong.
      const marked = `${checked?.text.trimEnd() ?? event.text}${checkNote(checked, true)}`;
      const text = `${marked}${sourceList(marked, sources.citedIn(marked))}`;
      yield { type: 'end', finishReason, usage: event.usage, text };
    }
  }
}

/** Which statements do not hold, and which cite another source than bears them out, unless marks say so; empty where all hold. */
function checkNote(checked: CheckedAnswer | undefined, isMarked = false): string {
  const { claims = [], citations } = checked ?? {};
  const told = claims.filter(({ supported, change }) => !supported || (change === 'moved' && !isMarked));
  if (citations === undefined || told.length === 0) return '';
  const lines = told.map((claim) => {
    const source = claim.number === null ? 'no source' : `[${claim.number}]`;
    const why = claim.supported ? changeText(claim) : claim.reason;
    const words = citationState(claim) === 'not checked' ? 'not checked' : why;
    return `- ${oneLine(claim.sentence, LONGEST_QUOTE)} (${source}: ${words})`;
  });
  return `\n\nCitations that hold: ${scoreText(citations)}. Look at these:\n${lines.join('\n')}`;
}

const LONGEST_QUOTE = 300;

/** Deep research on the last message: progress while it works, then the report. */
async function* answerByResearch(
  { request, principal, signal }: CompletionCall,
  deps: ModelDeps,
): AsyncGenerator<AnswerEvent> {
  const query = topicOf(conversationOf(request).at(-1)?.content ?? '');
  for await (const event of researchFor(deps, { query, principal }, signal)) {
    if (event.type === 'progress') yield progress(event.words);
    else if (event.type === 'report-delta') yield { type: 'text-delta', text: event.text };
    else if (event.type === 'end') {
      const message = failureMessage(event.job);
      if (message !== undefined) throw openAiErrors.upstream_error({ message });
      const { tokens, isEstimated } = event.job;
      // A job counts input and output tokens together.
      const usage = {
        inputTokens: 0,
        outputTokens: tokens,
        ...(isEstimated && { estimated: true as const }),
      };
      yield { type: 'end', finishReason: 'stop', usage };
    }
  }
}

const LONGEST_CONVERSATION = 500;

function conversationOf({ messages }: CompletionRequest): ChatMessage[] {
  const refuse = (message: string) => openAiErrors.invalid_request_error({ message });
  if (messages.length > LONGEST_CONVERSATION)
    throw refuse(`messages: at most ${LONGEST_CONVERSATION} are accepted`);
  if (messages.at(-1)?.role !== 'user') throw refuse("The last message must be the user's.");
  return messages.flatMap((message) =>
    message.role === 'user' || message.role === 'assistant'
      ? [{ role: message.role, content: textOf(message) }]
      : [],
  );
}

function progress(text: string): AnswerEvent {
  return { type: 'reasoning-delta', text: `${text}\n` };
}

function searchProgress(input: unknown): string {
  const query = typeof input === 'object' && input !== null && 'query' in input ? String(input.query) : '';
  return query === '' ? 'Thinking' : `Searching: ${query}`;
}

/** Left out when the answer itself has the addresses. */
function sourceList(text: string, cited: readonly NumberedResult[]): string {
  const missing = cited.filter(({ url }) => !text.includes(url));
  if (missing.length === 0) return '';
  return `\n\nSources:\n${missing.map(({ number, title, url }) => `[${number}] ${title}: ${url}`).join('\n')}`;
}
