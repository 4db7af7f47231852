import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { answerSchema } from '../../research/citation-judge.ts';
import { fileOf } from './planted.ts';

/** What a real model answered when it was asked about a planted claim. */
const opinionSchema = z.object({
  title: z.string(),
  ...answerSchema.shape.verdicts.element.shape,
  claim: z.string(),
});
export type RecordedOpinion = z.infer<typeof opinionSchema>;

/** The recorded opinions on a set; undefined where there are none. */
export function readOpinions(set: string): RecordedOpinion[] | undefined {
  try {
    return z.array(opinionSchema).parse(JSON.parse(readFileSync(opinionsFile(set), 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Lays them beside the set, and says where. */
export function writeOpinions(set: string, opinions: readonly RecordedOpinion[]): string {
  const file = opinionsFile(set);
  writeFileSync(file, `${JSON.stringify(opinions, null, 2)}\n`);
  return file;
}

function opinionsFile(set: string): string {
  return fileOf(set).replace(/\.txt$/, '.opinions.json');
}

/** What an answer says about each claim of the prompt it was given to: one verdict a claim. */
export function opinionsIn(prompt: string, answer: unknown): RecordedOpinion[] {
  const { verdicts } = answerSchema.parse(answer);
  const asked = questionsIn(prompt);
  if (verdicts.length !== asked.length)
    throw new Error(
      `The answer has ${verdicts.length} verdicts on ${asked.length} claims: give one for each.`,
    );
  return asked.map(({ number, claim, title }) => {
    const own = verdicts.find((verdict) => verdict.claim === number);
    if (own === undefined) throw new Error(`The answer has no verdict on claim ${number}: ${claim}`);
    return { claim, title, verdict: own.verdict, words: own.words };
  });
}

interface ChatRequest {
  messages: readonly { content?: unknown }[];
}

interface Refusal {
  fault: 'status';
  status: number;
  message: string;
}

/** Answers as the model did whose opinions were recorded; a claim without one is refused, never guessed. */
export function replayOf(opinions: readonly RecordedOpinion[]): (request: ChatRequest) => string | Refusal {
  const keyOf = ({ title, claim }: { title: string; claim: string }) => `${title}\n${claim}`;
  const known = new Map(opinions.map((opinion) => [keyOf(opinion), opinion]));
  return ({ messages }) => {
    const asked = questionsIn(String(messages.at(-1)?.content));
    const unknown = asked.find((question) => !known.has(keyOf(question)));
    if (unknown !== undefined)
      return { fault: 'status', status: 400, message: `no opinion was recorded on "${unknown.claim}"` };
    const verdicts = asked.map((question) => ({ ...known.get(keyOf(question)), claim: question.number }));
    return JSON.stringify({ verdicts });
  };
}

/** The claims that a prompt of the citation judge asks about, each with the title of its page. */
function questionsIn(prompt: string): { number: number; claim: string; title: string }[] {
  const titles = new Map(
    [...prompt.matchAll(/^<passage number="(\d+)" title="(.*)">$/gm)].map(([, number, title]) => [
      number,
      title,
    ]),
  );
  const behindPassages = prompt.slice(prompt.lastIndexOf('</passage>'));
  return [...behindPassages.matchAll(/^Claim (\d+) \(passage (\d+)\): (.*)$/gm)].map(
    ([, number, passage, claim = '']) => ({
      number: Number(number),
      claim,
      title: titles.get(passage) ?? '',
    }),
  );
}
