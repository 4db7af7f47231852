import type { FakeClock } from '@trunkline/testing';
import type { AudioFrame } from '../../speech/audio/samples.ts';
import { wordError } from '../../speech/word-error.suite.ts';
import { defaultUser } from '../../users/user.ts';
import type { RecordedSpeech, Step, VoiceCase } from './case.suite.ts';
import { Stage } from './stage.suite.ts';
import { Transcript } from './transcript.suite.ts';
import type { Voices } from './voices.suite.ts';

/** After the last step the call goes on until nothing has happened for this long. */
const calmMs = 4000;
const tickMs = 10;

export interface Outcome {
  conversation: string[];
  /** From the end of the caller's words to the first sound of the answer; the longest. */
  silence: number;
  /** From the first sound of a caller who speaks over the bot until the bot is silent; the longest. */
  yields: number;
  pauses: number;
  thrownAway: number;
  runs: number;
  remembered: string[];
  waiting: number;
  /** Timers that nobody has cancelled after the last call was over. */
  timers: number;
  /** Everything the page was told, with the time. */
  events: string[];
  /** Every sound that the caller heard. */
  played: AudioFrame[];
}

/** Runs one case on a clock of its own. */
export async function runCase(test: VoiceCase, voices: (clock: FakeClock) => Voices): Promise<Outcome> {
  const { model: answers, tools, verbosity, behavior, lang, half_duplex: halfDuplex } = test;
  const stage = new Stage({ answers, tools, verbosity, behavior, lang, settings: { halfDuplex }, voices });
  try {
    return await new Run(test, stage).play();
  } finally {
    await stage.close();
  }
}

class Run {
  readonly #test: VoiceCase;
  readonly #stage: Stage;
  readonly #transcript = new Transcript();
  #silence = 0;
  #yields = 0;

  constructor(test: VoiceCase, stage: Stage) {
    this.#test = test;
    this.#stage = stage;
  }

  async play(): Promise<Outcome> {
    const { caller: steps } = this.#test;
    const { clock, model, pending, callers } = this.#stage;
    await this.#call();
    for (const step of steps) await this.#take(step);
    await this.#untilCalm();
    this.#stage.caller.close('the case is over');
    await clock.advanceBy(0);
    return {
      conversation: this.#transcript.end(),
      silence: this.#silence,
      yields: this.#yields,
      pauses: callers.reduce((sum, { speaker }) => sum + speaker.pauses, 0),
      thrownAway: model.abandoned(),
      runs: this.#stage.ran.length,
      remembered: this.#remembered(),
      waiting: pending.waitingFor(defaultUser.id).length,
      timers: clock.pendingTimers,
      events: callers.flatMap(({ events }) => events),
      played: callers.flatMap(({ speaker }) => speaker.played),
    };
  }

  async #call(): Promise<void> {
    const caller = await this.#stage.call();
    caller.echo = this.#test.echo;
    for (const { message } of caller.received) this.#transcript.add(message);
    caller.onReceive((message) => this.#transcript.add(message));
    caller.tell({ type: 'client-ready' });
  }

  async #take(step: Step): Promise<void> {
    const { voices, caller, delivery } = this.#stage;
    if ('say' in step) await this.#say(await voices.sounds.speech(step.say));
    else if ('play' in step) await this.#say(await this.#recorded(step.play));
    else if ('cough' in step) await this.#stage.sound(voices.sounds.cough(step.cough));
    else if ('noise' in step) await this.#stage.sound(voices.sounds.noise(step.noise));
    else if ('pause' in step) await this.#stage.pass(step.pause);
    else if ('hear' in step) await this.#hear(step.hear);
    else if ('listen' in step) await this.#untilQuiet();
    else if ('mute' in step) caller.muted = step.mute;
    else if ('write' in step) caller.tell({ type: 'send-text', data: { content: step.write } });
    else if ('notification' in step) delivery.deliver(defaultUser.id, step.notification);
    else if ('hang_up' in step) caller.close('hung up');
    else await this.#call();
  }

  /** The silence after it is measured from the last sound of the caller. */
  async #say(sound: Int16Array): Promise<void> {
    const { clock, caller } = this.#stage;
    const start = clock.now();
    if (caller.speaker.sounding)
      caller.speaker.onNextSilence(() => {
        this.#yields = Math.max(this.#yields, clock.now() - start);
      });
    await this.#stage.sound(sound);
    const end = clock.now();
    caller.speaker.onNextSound(() => {
      this.#silence = Math.max(this.#silence, clock.now() - end);
    });
  }

  async #recorded(speech: RecordedSpeech): Promise<Int16Array> {
    const sound = await this.#stage.voices.sounds.recorded?.(speech);
    if (sound === undefined) throw new Error('recordings need "voices: local" or "voices: recorded"');
    return sound;
  }

  /** Until the other side has spoken for so long, from now on. */
  async #hear(ms: number): Promise<void> {
    let heard = 0;
    await this.#stage.until(() => {
      heard += this.#stage.caller.speaker.sounding ? tickMs : 0;
      return heard >= ms;
    });
  }

  async #untilQuiet(): Promise<void> {
    await this.#stage.until(() => this.#stage.caller.speaker.sounding);
    let quiet = 0;
    await this.#stage.until(() => {
      quiet = this.#stage.caller.speaker.sounding ? 0 : quiet + tickMs;
      return quiet >= 300;
    });
  }

  async #untilCalm(): Promise<void> {
    const { caller } = this.#stage;
    let [calm, count] = [0, caller.events.length];
    await this.#stage.until(() => {
      const isBusy = caller.events.length > count || caller.speaker.sounding;
      [calm, count] = [isBusy ? 0 : calm + tickMs, caller.events.length];
      return calm >= calmMs || caller.isClosed;
    });
  }

  #remembered(): string[] {
    const messages = this.#stage.memory.recall(defaultUser.id, 'default');
    return messages.flatMap(({ role, content }) => {
      if (role !== 'assistant') return [];
      const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
      return parts.flatMap((part) => (part.type === 'text' ? part.text : []));
    });
  }
}

/** What differs from what a case with real models expects. */
export function problemsOf({ expect }: VoiceCase, outcome: Outcome): string[] {
  const { conversation, wrong, silence, pauses } = expect;
  const told = `understood:\n${outcome.conversation.join('\n')}`;
  if (outcome.conversation.length !== conversation.length)
    return [`${conversation.length} lines expected; ${told}`];
  const misheard = conversation.some(
    (line, index) => lineError(line, outcome.conversation[index] ?? '') > wrong,
  );
  return [
    ...(misheard ? [`more than ${wrong * 100} % of a line wrong; ${told}`] : []),
    ...(outcome.silence > (silence ?? Infinity) ? [`${outcome.silence} ms of silence`] : []),
    ...(pauses !== undefined && outcome.pauses !== pauses ? [`${outcome.pauses} pauses`] : []),
  ];
}

/** Where a voice is cut off differs a little from time to time; that it is does not. */
function lineError(expected: string, actual: string): number {
  if (expected.endsWith('--') !== actual.endsWith('--')) return 1;
  if (!expected.endsWith('--')) return wordError([expected], [actual]);
  const least = Math.min(expected.split(' ').length, actual.split(' ').length) - 1;
  const start = (line: string) => line.split(' ').slice(0, least).join(' ');
  return least < 5 ? 1 : wordError([start(expected)], [start(actual)]);
}
