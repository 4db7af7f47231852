// What a caller hears: Chromium opens the shipped page with a recorded person as its microphone and calls the services as
// `npm start` sets them up, with a model whose first token comes after 300 ms. From the end of the person's words to the
// first sound that the page plays, and from the onset of an interruption to silence. What the loudspeaker itself and a
// network add is not in it; nor is what a browser does to a real microphone's sound.
import { errorMessage } from '@trunkline/std';
import {
  findChromium,
  launchBrowser,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import type { TurnLatency } from '../apps/voice/metrics/metrics.ts';
import { createFleet } from '../soak/fleet.ts';
import type { BenchResult } from './result.ts';
import { type Heard, levelMs, openPageCall } from './voice-heard/page-call.ts';
import { type NamedSound, wholeSentences } from './voice-turns.ts';

const rate = 16_000;
const clipCount = 12;
const longestClipSeconds = 8;
/** A model of a usual speed: its first text comes after 300 ms (a chunk without text and a gap are before it), then 40 chunks a second. */
const speed = { afterMs: 250, dripMs: 25 };
const answers = [
  'The capital of France is Paris and it lies on the river Seine in the north of the country. About two million people live there, and many more come to visit it every year.',
  'Yes, that is possible. I can put you through to one of my colleagues now, or they can call you back in the afternoon when there are fewer people waiting for an answer.',
  'You have three new messages and the first of them came this morning at half past nine. Somebody asked for the report about the old bridge and would like to have it today.',
  'It takes about twenty minutes on foot, or five by bus. The bus leaves in front of the railway station every quarter of an hour until late in the evening.',
];
/** The interruption comes after so much of the answer. */
const listenMs = 1500;
/** Softer sound (-50 dB of full scale) is not heard; speech that was lowered is at about -35. */
const audible = 0.003;
/** Speech pauses for less between two sentences. */
const silenceMs = 700;
/** The bot must have sounded so shortly before it was interrupted, or it was silent by itself. */
const soundingMs = 150;
const clipLimitMs = 60_000;
const marginSeconds = 0.1;

interface Turn {
  name: string;
  /** Undefined: it was not answered. */
  waitMs: number | undefined;
  /** From the message that the service has begun to send to the first sound. */
  playoutMs: number | undefined;
  latency: Partial<TurnLatency>;
  /** The first sound was an acknowledgement, not the answer. */
  acknowledged: boolean;
  /** Undefined: the bot was silent by itself, or went on. */
  yieldMs: number | undefined;
  /** From the onset of the interruption to the message with which the silence begins: the page cuts off what it has. */
  signalledMs: number | undefined;
  /** The bot went on before it was silent for good. */
  resumed: boolean;
  wentOn: boolean;
  pace: number;
}

export async function run(count = clipCount): Promise<BenchResult[]> {
  // The browser that people have, as in the live tests.
  process.env.CHROMIUM_HEADLESS_SHELL = '0';
  if (findChromium() === undefined) return [];
  const clips = chosen((await wholeSentences()) ?? [], count);
  if (clips.length === 0) return [];
  const home = temporaryDirectory();
  let answer = answers[0] ?? '';
  const model = await startModelServer({ script: () => ({ text: answer, ...speed }) });
  const fleet = await createFleet({ home: home.path, modelUrl: model.url });
  const browser = await launchBrowser({ args: ['--autoplay-policy=no-user-gesture-required'] });
  const turns: Turn[] = [];
  let failed = 0;
  try {
    await fleet.start();
    // The first call loads the models.
    for (const [index, clip] of [clips[0], ...clips].entries()) {
      if (clip === undefined) continue;
      answer = answers[index % answers.length] ?? '';
      try {
        const call = await openPageCall(browser, fleet.urls.voice);
        const turn = await measure(call, clip, interruptionOf(clips, clip), answer);
        await call.close();
        if (index === 0) continue;
        console.error(JSON.stringify(turn));
        turns.push(turn);
      } catch (error) {
        // The others still tell something; the table says how many are missing.
        console.error(`${clip.name}: ${errorMessage(error)}`);
        failed += 1;
      }
    }
    return resultsOf(turns, failed, await voiceOf(fleet.urls.voice));
  } finally {
    await browser.close();
    await fleet.stop();
    await model.stop();
    home.remove();
  }
}

/** Evenly from all of them. */
function chosen(sentences: readonly NamedSound[], count: number): NamedSound[] {
  const short = sentences.filter(({ samples }) => samples.length < longestClipSeconds * rate);
  const step = Math.max(1, short.length / count);
  return short.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

/** Another sentence of the list: the next one, which mostly has the same speaker. */
function interruptionOf(clips: readonly NamedSound[], clip: NamedSound): NamedSound {
  const next = clips.indexOf(clip) + 1;
  return clips[next] ?? clips[next - 2] ?? clip;
}

type PageCall = Awaited<ReturnType<typeof openPageCall>>;

async function measure(
  call: PageCall,
  clip: NamedSound,
  interruption: NamedSound,
  answer: string,
): Promise<Turn> {
  const limit = { timeoutMs: clipLimitMs, intervalMs: 200 };
  const asked = await call.say(clip.samples, rate);
  const { name } = clip;
  let heard = await call.heard();
  let firstAt: number | undefined;
  try {
    await waitFor(async () => {
      heard = await call.heard();
      firstAt = soundAfter(heard, asked.to);
      return firstAt !== undefined && heardMs(heard, firstAt) >= listenMs;
    }, limit);
  } catch {
    // Counted as unanswered.
  }
  const { pace } = heard;
  const unanswered = {
    waitMs: undefined,
    playoutMs: undefined,
    latency: {},
    acknowledged: false,
    yieldMs: undefined,
    signalledMs: undefined,
    resumed: false,
  };
  if (firstAt === undefined) return { name, ...unanswered, wentOn: false, pace };
  const waitMs = (firstAt - asked.to) * 1000;
  const sentAt = heard.messages.find(({ type }) => type === 'bot-started-speaking')?.at;
  const playoutMs = sentAt === undefined ? undefined : (firstAt - sentAt) * 1000;
  const words = heard.messages.filter(({ type }) => type === 'bot-tts-text').map(({ data }) => data.text);
  const acknowledged = words.length > 0 && !answer.startsWith(String(words[0]));
  const latency = latencyIn(heard);
  const spoken = await call.say(interruption.samples, rate);
  // All that follows the words within this is heard: the silence begins before or never.
  await waitFor(async () => heardMs(await call.heard(), spoken.to) >= silenceMs, limit);
  const after = await call.heard();
  const isSounding = soundAfter(after, spoken.from - soundingMs / 1000, spoken.from) !== undefined;
  const silentAt = silenceAfter(after, spoken.from);
  const yieldMs = isSounding && silentAt !== undefined ? (silentAt - spoken.from) * 1000 : undefined;
  const wentOn = isSounding && silentAt === undefined;
  // Levels are of 5 ms, and the page notes the time of a message when it gets to it.
  const until = yieldMs === undefined || silentAt === undefined ? -Infinity : silentAt + marginSeconds;
  const signals = after.messages.filter(({ at }) => at >= spoken.from && at <= until);
  const signalledAt = signals.findLast((message) => silences.includes(nameOf(message)))?.at;
  const signalledMs = signalledAt === undefined ? undefined : (signalledAt - spoken.from) * 1000;
  const resumed = signals.some((message) => nameOf(message) === 'speech-resumed');
  const answered = { name, waitMs, playoutMs, latency, acknowledged };
  return { ...answered, yieldMs, signalledMs, resumed, wentOn, pace: after.pace };
}

/** Messages at which the page is silent at once. */
const silences = ['speech-paused', 'bot-interrupted'];

function nameOf({ type, data }: Heard['messages'][number]): string {
  return type === 'server-message' ? String(data.type) : type;
}

const indexOf = ({ from }: Heard, at: number) => Math.max(0, Math.ceil(((at - from) * 1000) / levelMs));
const timeOf = ({ from }: Heard, index: number) => from + (index * levelMs) / 1000;

/** How much was recorded since then. */
function heardMs(heard: Heard, at: number): number {
  return (heard.levels.length - indexOf(heard, at)) * levelMs;
}

/** When the first sound begins that lasts for 20 ms, in seconds. */
function soundAfter(heard: Heard, from: number, to = Infinity): number | undefined {
  const { levels } = heard;
  const isSound = (index: number) => levels.slice(index, index + 4).filter((level) => level > audible).length;
  for (let index = indexOf(heard, from); index < levels.length - 4 && timeOf(heard, index) < to; index += 1)
    if ((levels[index] ?? 0) > audible && isSound(index) >= 3) return timeOf(heard, index);
  return undefined;
}

/** When the first silence begins that is longer than a pause of speech, in seconds. */
function silenceAfter(heard: Heard, from: number): number | undefined {
  let quiet = 0;
  for (let index = indexOf(heard, from); index < heard.levels.length; index += 1) {
    quiet = (heard.levels[index] ?? 0) > audible ? 0 : quiet + 1;
    if (quiet * levelMs >= silenceMs) return timeOf(heard, index + 1 - quiet);
  }
  return undefined;
}

function latencyIn({ messages }: Heard): Partial<TurnLatency> {
  const turn = messages.find(({ type, data }) => type === 'metrics' && data.turn !== undefined)?.data.turn;
  return (turn ?? {}) as Partial<TurnLatency>;
}

async function voiceOf(url: string): Promise<string> {
  const health = (await (await fetch(`${url}/healthz`)).json()) as {
    speech?: { voice?: { voice?: string } };
  };
  return health.speech?.voice?.voice ?? 'unknown voice';
}

function resultsOf(turns: readonly Turn[], failed: number, voice: string): BenchResult[] {
  const row = (name: string, unit: string, ours: number, goal?: string): BenchResult => ({
    ...{ name, unit, ours, peers: {}, ratio: 0, better: 'lower' },
    ...(goal !== undefined && { goal }),
  });
  const waits = turns.flatMap(({ waitMs }) => waitMs ?? []);
  const yields = turns.flatMap(({ yieldMs }) => yieldMs ?? []);
  const signalled = turns.flatMap(({ signalledMs }) => signalledMs ?? []);
  const part = (name: string, mark: keyof TurnLatency) =>
    row(
      `of it, by the service: ${name}, p50`,
      'ms',
      quantile(
        turns.flatMap(({ latency }) => latency[mark] ?? []),
        0.5,
      ),
    );
  const slowest = 100 * Math.min(...turns.map(({ pace }) => pace));
  const wait = `end of speech to first sound in Chromium, ${waits.length} human recordings, ${voice}`;
  const interruption = `onset of an interruption to silence in Chromium, ${yields.length} tries`;
  const silent = waits.length - yields.length - turns.filter(({ wentOn }) => wentOn).length;
  const rows: BenchResult[] = [
    row(`${wait}, p50`, 'ms', quantile(waits, 0.5), '900'),
    row(`${wait}, p90`, 'ms', quantile(waits, 0.9), '1400'),
    part('end of turn', 'end_of_utterance_ms'),
    part('first token', 'first_token_ms'),
    part('first speech', 'first_speech_ms'),
    part('first packet', 'first_packet_ms'),
    row(
      'of it, in the page: from the message that it speaks to the first sound, p50',
      'ms',
      quantile(
        turns.flatMap(({ playoutMs }) => playoutMs ?? []),
        0.5,
      ),
    ),
    row('calls that failed, and are not in these figures', 'calls', failed, '0'),
    row('unanswered', 'calls', turns.length - waits.length, '0'),
    row('first sound an acknowledgement', 'calls', turns.filter(({ acknowledged }) => acknowledged).length),
    { ...row('sound clock of the page, least of real time', '%', slowest, '99'), better: 'higher' },
    row('went on in spite of an interruption', 'calls', turns.filter(({ wentOn }) => wentOn).length, '0'),
    row('silent by itself when it was interrupted, and not counted', 'calls', silent),
  ];
  if (yields.length === 0) return rows;
  return [
    ...rows,
    row(`${interruption}, p50`, 'ms', quantile(yields, 0.5), '300'),
    row(`${interruption}, p90`, 'ms', quantile(yields, 0.9), '300'),
    row('of it, until the service tells the page to be silent, p50', 'ms', quantile(signalled, 0.5)),
    row('of it, until the service tells the page to be silent, p90', 'ms', quantile(signalled, 0.9)),
    row('went on for a moment before it was silent', 'calls', turns.filter(({ resumed }) => resumed).length),
  ];
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

if (import.meta.main) {
  console.table(await run(Number(process.argv[2] ?? clipCount)), ['name', 'unit', 'ours', 'goal']);
  process.exit(0);
}
