import type { Logger } from '@trunkline/config';
import { runTurn } from '@trunkline/loop';
import { spokenText } from '../call/speaking/speech-text.ts';
import type { Model } from '../turn/model-settings.ts';

export interface BriefingDeps {
  /** Sums up; undefined where only the demo model is there, which cannot. */
  model(): Model | undefined;
  logger: Logger;
}

/** About half a minute of speech. */
const longestWords = 80;
const limits = { steps: 1, toolTimeoutMs: 1000, turnTimeoutMs: 20_000 };
const instructions = `You tell someone by voice what a report says that they have asked for.
Give its main findings in at most five plain spoken sentences. Add nothing that it does not say.
Do not mention headings, lists, numbers of sources or addresses.`;

/** Whether a text was written to be read: it is long, or has headings. */
export function isReport(text: string): boolean {
  return wordCount(text) > longestWords || /^#{1,6}\s/m.test(text);
}

const mostKept = 100;

/**
 * What is said of a report: its main points, or its beginning where no model sums it up. One report is summed up after
 * the other, and once, however many wait for a caller and however often the caller comes back.
 */
export function createBriefing(deps: BriefingDeps): (text: string) => Promise<string> {
  const brief = createBrief(deps);
  const kept = new Map<string, Promise<string>>();
  let last: Promise<unknown> = Promise.resolve();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const told = last.then(() => brief(text));
    last = told;
    kept.set(text, told);
    const [oldest] = kept.keys();
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
    return told;
  };
}

function createBrief({ model, logger }: BriefingDeps): (text: string) => Promise<string> {
  return async (text) => {
    try {
      const summing = model();
      return summing === undefined ? beginningOf(text) : await sumUp(summing, text);
    } catch (error) {
      logger.warn({ err: error }, 'a report was not summed up; its beginning is read out');
      return beginningOf(text);
    }
  };
}

async function sumUp(model: Model, text: string): Promise<string> {
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
