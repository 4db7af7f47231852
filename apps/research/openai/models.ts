import { type ChatParts, startTurn } from '../chat/answer.ts';
import type { NumberedResult } from '../chat/turn-sources.ts';
import { researchErrors } from '../errors.ts';
import { type DeepResearchParts, failureWords, researchFor, topicOf } from '../interfaces/deep-research.ts';
import type { Piece } from './completion.ts';
import { type CompletionRequest, conversationOf, systemWords } from './request.ts';

export type ModelParts = ChatParts & DeepResearchParts;

type Answering = (
  request: CompletionRequest,
  parts: ModelParts,
  signal: AbortSignal,
) => AsyncGenerator<Piece>;

/** What this service offers as models. */
export const models: ReadonlyMap<string, Answering> = new Map([
  ['research-chat', answerByChat],
  ['research-deep', answerByResearch],
]);

/** The search chat; the sources that the answer cites stand at its end. */
async function* answerByChat(
  request: CompletionRequest,
  parts: ModelParts,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  const asked = { messages: conversationOf(request), instructions: systemWords(request) };
  const { events, sources } = startTurn(asked, parts, signal);
  for await (const event of events) {
    if (event.type === 'text-delta') yield { type: 'text', text: event.text };
    else if (event.type === 'tool-start') yield { type: 'progress', text: searchWords(event.input) };
    else if (event.type === 'pause') {
      yield { type: 'text', text: event.question };
      yield { type: 'end', finishReason: 'stop', usage: event.usage };
    } else if (event.type === 'error') throw researchErrors.model_failed({ words: event.message });
    else if (event.type === 'end') {
      const list = sourceList(event.text, sources.citedIn(event.text));
      if (list !== '') yield { type: 'text', text: list };
      const finishReason = event.finishReason === 'length' ? 'length' : 'stop';
      yield { type: 'end', finishReason, usage: event.usage };
    }
  }
}

function searchWords(input: unknown): string {
  const query = typeof input === 'object' && input !== null && 'query' in input ? String(input.query) : '';
  return query === '' ? 'Thinking' : `Searching: ${query}`;
}

/** Left out when the answer itself names the addresses. */
function sourceList(text: string, cited: readonly NumberedResult[]): string {
  const missing = cited.filter(({ url }) => !text.includes(url));
  if (missing.length === 0) return '';
  return `\n\nSources:\n${missing.map(({ number, title, url }) => `[${number}] ${title}: ${url}`).join('\n')}`;
}

/** Deep research on the last message: progress while it works, then the report. */
async function* answerByResearch(
  request: CompletionRequest,
  parts: ModelParts,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  const topic = topicOf(conversationOf(request).at(-1)?.content ?? '');
  for await (const event of researchFor(parts, topic, signal)) {
    if (event.type === 'progress') yield { type: 'progress', text: event.words };
    else if (event.type === 'report-delta') yield { type: 'text', text: event.text };
    else if (event.type === 'end') {
      const failure = failureWords(event.job);
      if (failure !== undefined) throw researchErrors.model_failed({ words: failure });
      // A job counts its tokens together.
      yield { type: 'end', finishReason: 'stop', usage: { inputTokens: 0, outputTokens: event.job.tokens } };
    }
  }
}
