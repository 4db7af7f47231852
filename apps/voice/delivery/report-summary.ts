import type { Logger } from '@trunkline/config';
import { runTurn } from '@trunkline/loop';
import { Mutex } from '@trunkline/std';
import { spokenText } from '../call/speaking/speech-text.ts';
import type { Model } from '../turn/persona.ts';

export interface SummaryDeps {
  /** Undefined where there is only the demo model, which cannot summarize. */
  model(): Model | undefined;
  logger: Logger;
}

/** About half a minute of speech. */
const longestWords = 80;
const limits = { steps: 1, toolTimeoutMs: 1000, turnTimeoutMs: 20_000 };
const instructions = `You tell someone by voice what a report says that they have asked for.
Give its main findings in at most five plain spoken sentences. Add nothing that it does not say.
Do not mention headings, lists, numbers of sources or addresses.`;

/** Whether a text was written to be read: it is long or has headings. */
export function isReport(text: string): boolean {
  return wordCount(text) > longestWords || /^#{1,6}\s/m.test(text);
}

const mostCached = 100;

/**
 * Shortens a report to its main points, or to its beginning where no model can summarize. Reports are summarized one
 * after the other, and each once, however many wait for a caller and however often the caller reconnects.
 */
export function createReportSummarizer(deps: SummaryDeps): (text: string) => Promise<string> {
  const cached = new Map<string, Promise<string>>();
  const oneAtATime = new Mutex();
  return (text) => {
    const known = cached.get(text);
    if (known !== undefined) return known;
    const summary = oneAtATime.run(() => summarize(text, deps));
    cached.set(text, summary);
    const [oldest] = cached.keys();
    if (cached.size > mostCached && oldest !== undefined) cached.delete(oldest);
    return summary;
  };
}

async function summarize(text: string, { model, logger }: SummaryDeps): Promise<string> {
  try {
    const summarizer = model();
    return summarizer === undefined ? beginningOf(text) : await askModel(summarizer, text);
  } catch (error) {
    logger.warn({ err: error }, 'failed to summarize report; reading its beginning');
    return beginningOf(text);
  }
}

async function askModel(model: Model, text: string): Promise<string> {
  const messages = [{ role: 'user' as const, content: text }];
  const signal = AbortSignal.timeout(limits.turnTimeoutMs);
  const turn = { model, instructions, tools: [], messages, limits, sessionId: 'briefing', signal };
  for await (const event of runTurn(turn)) {
    if (event.type === 'end' && event.text.trim() !== '') return event.text;
    if (event.type === 'error') throw new Error(event.message);
  }
  throw new Error('the model gave no summary');
}

function beginningOf(text: string): string {
  const prose = text.replace(/^#+\s*sources\s*$[\s\S]*/im, '').replace(/^#.*$/gm, '');
  const sentences = spokenText(prose).split(/(?<=[.!?])\s+/);
  const kept: string[] = [];
  for (const sentence of sentences) {
    if (kept.length > 0 && wordCount([...kept, sentence].join(' ')) > longestWords) break;
    kept.push(sentence);
  }
  return `${kept.join(' ')} There is more of it to read.`;
}

function wordCount(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
