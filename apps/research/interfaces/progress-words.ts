import type { ResearchEvent } from '../research/job.ts';

type Data = Record<string, unknown>;

const list = (value: unknown) => (Array.isArray(value) ? value.map(String).join('; ') : '');

const STOP_WORDS: Record<string, string> = {
  'no-gaps': 'no gaps are left',
  passes: 'the most passes were made',
  budget: 'the budget is used up',
  'no-new-sources': 'the last pass found no new sources',
};

const WORDS: Record<string, (data: Data) => string> = {
  scope_started: () => 'Planning the research',
  scope_complete: ({ dimensions }) => `Planned: ${list(dimensions)}`,
  dimension_started: ({ dimension }) => `Researching: ${String(dimension)}`,
  dimension_source: ({ title }) => `Found: ${String(title)}`,
  dimension_complete: ({ dimension, sourceCount }) =>
    `Done: ${String(dimension)} (${String(sourceCount)} sources read)`,
  evaluate_started: () => 'Looking for gaps',
  evaluate_complete: ({ gaps, stopReason }) =>
    stopReason === undefined
      ? `Gaps to fill: ${list(gaps)}`
      : `Enough researched: ${STOP_WORDS[String(stopReason)] ?? String(stopReason)}`,
  synthesis_started: () => 'Writing the report and checking its citations',
  note: ({ message }) => String(message),
  resumed: () => 'Going on where it stopped',
};

/** What an event of a job means, in words; nothing for those that a reader need not see. */
export function progressText({ type, data }: ResearchEvent): string | undefined {
  return WORDS[type]?.((data ?? {}) as Data);
}
