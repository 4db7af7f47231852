import type { AgentSkill, ExecutionEvent, Executor } from '@trunkline/a2a';
import { HttpError } from '@trunkline/http';
import type { CitationScore } from '../api-types.ts';
import { judgesText } from '../citations/judge-words.ts';
import {
  type DeepEvent,
  type DeepResearchDeps,
  failureMessage,
  researchFor,
  topicOf,
} from './deep-research.ts';

export const researchSkill: AgentSkill = {
  id: 'deep_research',
  name: 'Deep research',
  description:
    'Researches a topic on the web, in an encyclopedia and in the files of the library, and writes a report in Markdown whose citations are checked one by one. Give the topic as text.',
  tags: ['research', 'report', 'citations'],
  examples: ['How do tidal power stations affect fish?'],
};

/** A task is a topic; it tells of its progress and ends with the report as an artifact. */
export function createResearchExecutor(deps: DeepResearchDeps): Executor {
  return {
    async *execute({ text }, signal): AsyncGenerator<ExecutionEvent> {
      try {
        for await (const event of researchFor(deps, topicOf(text), signal)) yield* toExecution(event);
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        yield { type: 'rejected', message: error.message };
      }
    },
  };
}

function toExecution(event: DeepEvent): ExecutionEvent[] {
  switch (event.type) {
    case 'start':
      return [];
    case 'progress':
      return [{ type: 'progress', text: event.words }];
    case 'report-delta':
      return [{ type: 'text-delta', text: event.text }];
    case 'end': {
      const failure = failureMessage(event.job);
      if (failure !== undefined) return [{ type: 'failed', message: failure }];
      const { tokens, costUsd, citations } = event.job;
      // A job counts its tokens together.
      const usage = { inputTokens: 0, outputTokens: tokens, totalTokens: tokens };
      return [
        { type: 'usage', usage: { ...usage, ...(costUsd !== null && { costUsd }) } },
        { type: 'completed', message: scoreOf(citations) },
      ];
    }
  }
}

function scoreOf(citations: CitationScore | null): string {
  const { total = 0, supported = 0 } = citations ?? {};
  const judges = judgesText(citations ?? {});
  return `The report is complete: ${supported} of ${total} citations are borne out by their sources${judges && ` (${judges})`}.`;
}
