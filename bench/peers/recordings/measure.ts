// Plays the same recordings to our voice and to LiveKit Agents at the same time: one call each where times are measured, a few
// at once for the rest.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '@trunkline/std';
import { Group } from '../processes.ts';
import { readTrials } from './play.ts';
import { type Overlaps, pausesMs, type Score, score } from './score.ts';
import { type Outcome, type Trial, timedKinds } from './trial.ts';

const programs = join(import.meta.dirname, '../programs');
const address = /(http:\/\/127\.0\.0\.1:\d+)/;

export const products = [
  { id: 'ours-voice', program: 'recordings-ours.ts' },
  { id: 'livekit', program: 'recordings-livekit.js' },
] as const;

export interface RecordingsResult {
  score: Score;
  /** Of one processor, for one call. */
  cpuPercent: number;
  /** In 9 of 10 trials no sound was moved later than that. */
  lateMs: number;
  /** Trials without a result, with the reason. */
  failures: string[];
}

interface Options {
  /** Calls at once to each product where no time is measured. */
  lines: number;
  /** Where the sounds are, or will be for the next run; a temporary folder where not given. */
  folder?: string | undefined;
  /** All where not given. */
  kinds?: readonly string[] | undefined;
}

export async function measureRecordings({
  lines,
  folder,
  kinds,
}: Options): Promise<Record<string, RecordingsResult>> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-recordings-'));
  const sounds = folder ?? home;
  const started = products.map((product) => ({ ...product, group: new Group(home) }));
  try {
    mkdirSync(sounds, { recursive: true });
    if (!existsSync(join(sounds, 'trials.json'))) await writeTrials(home, sounds);
    const all = [...readTrials(sounds).values()];
    const trials = all.filter(({ kind }) => kinds?.includes(kind) ?? true);
    const running = [];
    for (const { id, program, group } of started) {
      const args = [join(programs, program), sounds];
      running.push({ id, group, url: await group.launch(process.execPath, args, { ready: address }) });
    }
    const [warmUp] = trials;
    if (warmUp === undefined) throw new Error(`There are no such trials in ${sounds}.`);
    await Promise.all(running.map(({ url }) => ask(url, warmUp)));
    const before = running.map(({ group }) => group.cpu());
    const urls = running.map(({ url }) => url);
    const isTimed = ({ kind }: Trial) => timedKinds.includes(kind);
    const answers = await playAll(trials.filter(isTimed), urls, 1);
    const others = trials.filter((trial) => !isTimed(trial));
    answers.push(...(await playAll(others, urls, lines)));
    const results = running.map(({ id, group }, index) => {
      const of = answers.map(({ [index]: answer }) => answer).filter((answer) => answer !== undefined);
      return [id, resultOf(of, group.cpu() - (before[index] ?? 0))] as const;
    });
    return Object.fromEntries(results);
  } finally {
    for (const { group } of started) await group.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The sounds take some minutes to understand. */
async function writeTrials(home: string, sounds: string): Promise<void> {
  const group = new Group(home);
  console.error('Recordings ...');
  const args = [join(programs, 'recordings-trials.ts'), sounds];
  try {
    await group.launch(process.execPath, args, { ready: /(written)/, limitMs: 600_000 });
  } finally {
    await group.stop();
  }
}

interface Answer {
  outcome: Outcome | Error;
  callMs: number;
}

/** Both get a trial at the same moment, so that whatever else the machine does meets both. */
async function playAll(
  trials: readonly Trial[],
  urls: readonly string[],
  lines: number,
): Promise<Answer[][]> {
  const answers: Answer[][] = [];
  const waiting = [...trials];
  const worker = async (line: number) => {
    // Not in step with the others.
    await delay(line * 130);
    for (let trial = waiting.shift(); trial !== undefined; trial = waiting.shift()) {
      const next = trial;
      answers.push(await Promise.all(urls.map((url) => ask(url, next))));
    }
  };
  await Promise.all(Array.from({ length: lines }, (_, line) => worker(line)));
  return answers;
}

async function ask(url: string, { id }: Trial): Promise<Answer> {
  const began = performance.now();
  const end = (outcome: Outcome | Error): Answer => ({ outcome, callMs: performance.now() - began });
  try {
    const response = await fetch(url, { method: 'POST', body: id, signal: AbortSignal.timeout(120_000) });
    return end(response.ok ? ((await response.json()) as Outcome) : new Error(await response.text()));
  } catch (error) {
    return end(new Error(`${id}: ${errorMessage(error)}`));
  }
}

function resultOf(answers: readonly Answer[], cpuMs: number): RecordingsResult {
  const all = answers.map(({ outcome }) => outcome);
  const outcomes = all.flatMap((outcome) => (outcome instanceof Error ? [] : [outcome]));
  const late = outcomes.map(({ latestMs }) => latestMs).toSorted((left, right) => left - right);
  return {
    score: score(outcomes),
    cpuPercent: (100 * cpuMs) / answers.reduce((sum, { callMs }) => sum + callMs, 0),
    lateMs: late[Math.floor(late.length * 0.9)] ?? 0,
    failures: all.flatMap((outcome) => (outcome instanceof Error ? [outcome.message] : [])),
  };
}

/** The figures of a run that played these kinds, and those of the other kinds from an earlier one. */
export function mergeRecordings(
  earlier: RecordingsResult | undefined,
  { score: fresh, failures, ...rest }: RecordingsResult,
  kinds: readonly string[],
): RecordingsResult {
  if (earlier === undefined) return { score: fresh, failures, ...rest };
  const newest = Object.fromEntries(Object.entries(fresh).filter(([kind]) => kinds.includes(kind)));
  const isOther = (failure: string) => !kinds.includes(failure.split('-')[0] ?? '');
  return {
    ...rest,
    score: { ...earlier.score, ...newest },
    failures: [...earlier.failures.filter(isOther), ...failures],
  };
}

/** A row for each figure, a column for each product. */
export function recordingsTable(columns: readonly { title: string; result: RecordingsResult }[]): string {
  const ms = (value: number) => `${Math.round(value)} ms`;
  const percent = (value: number) => `${Math.round(value)} %`;
  const overlaps = ({ count, stopped, paused, pauseMs, answered }: Overlaps) =>
    `${stopped.length} of ${count}; ${paused.length} (${ms(pauseMs)}); ${answered.length}`;
  const rows: [string, (result: RecordingsResult) => string][] = [
    [
      'end of a sentence to first sound, p50, p90',
      ({ score: { sentence } }) => `${ms(sentence.p50)}, ${ms(sentence.p90)}`,
    ],
    [
      'sentences answered before their end, not within 4 s',
      ({ score: { sentence } }) => `${sentence.early}, ${sentence.unanswered} of ${sentence.count}`,
    ],
    ...pausesMs.map((pauseMs): [string, (result: RecordingsResult) => string] => [
      `cut off at a pause of ${pauseMs / 1000} s in mid-sentence`,
      ({ score: { pause } }) => percent(pause.percent[pauseMs] ?? 0),
    ]),
    [
      'cut off, mean of those pauses',
      ({ score: { pause } }) => `${percent(pause.mean)} of ${pause.places} places`,
    ],
    [
      'noise over speech: stopped for good; paused (median); answered',
      ({ score: { noise } }) => overlaps(noise),
    ],
    [
      'backchannel over speech: stopped for good; paused (median); answered',
      ({ score: { backchannel } }) => overlaps(backchannel),
    ],
    [
      'onset of an interruption to silence, p50, p90; missed',
      ({ score: { interruption } }) =>
        `${ms(interruption.p50)}, ${ms(interruption.p90)}; ${interruption.missed} of ${interruption.count}`,
    ],
    ['processor time of a call', ({ cpuPercent }) => `${percent(cpuPercent)} of one processor`],
    ['sound moved late by at most, p90 of the trials', ({ lateMs }) => ms(lateMs)],
  ];
  const lines = [
    ['', ...columns.map(({ title }) => title)],
    ['---', ...columns.map(() => '---')],
    ...rows.map(([name, cell]) => [name, ...columns.map(({ result }) => cell(result))]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
