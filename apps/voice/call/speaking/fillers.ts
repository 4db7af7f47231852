import type { Clock } from '@trunkline/schedule';
import type { Verbosity } from '../../skills/skill.ts';
import { Alarm } from '../clock.ts';

interface Phrases {
  /** Said when the model is late. */
  acknowledgements: readonly string[];
  /** Said when a tool starts and the model has said nothing: 2-4, 4-8 and up to 12 words. */
  preambles: readonly string[];
  /** Said while a slow tool runs. */
  progress: readonly string[];
}

const none: Phrases = { acknowledgements: [], preambles: [], progress: [] };

export const phrases: Record<Verbosity, Phrases> = {
  silent: none,
  brief: {
    acknowledgements: ['Okay.', 'Mm-hm.', 'Right.'],
    preambles: ['One moment.', 'Let me check.', 'Just a second.'],
    progress: [],
  },
  narrated: {
    acknowledgements: ['Okay.', 'All right.', 'Mm-hm.'],
    preambles: [
      'Let me look that up for you.',
      'I will check that for you.',
      'Give me a moment to find out.',
    ],
    progress: ['I am still working on it.', 'This takes a little longer.', 'Not done yet, please hold on.'],
  },
  chatty: {
    acknowledgements: ['Okay, sure.', 'All right then.', 'Got it.'],
    preambles: [
      'Sure, let me have a quick look and find that out.',
      'Good one, give me a moment while I look into it.',
      'Let me see what I can find out about that.',
    ],
    progress: [
      'I am still on it, it just takes a little longer.',
      'Almost there I hope, thank you for waiting with me.',
      'Still looking, this one is not so quick.',
    ],
  },
};

export interface FillerDeps {
  clock: Clock;
  verbosity: Verbosity;
  /** Whether an acknowledgement precedes a late reply. */
  acknowledges: boolean;
  /** Neither side is speaking. */
  isQuiet(): boolean;
  say(text: string): void;
}

const acknowledgeAfterMs = 1000;
const preambleAfterMs = 700;
const progressAfterMs = 2000;
const progressEveryMs = 6000;
const progressRetryMs = 1500;

/** Fills dead air while the model thinks and while a tool runs. */
export class Fillers {
  readonly #deps: FillerDeps;
  readonly #acknowledgement: Alarm;
  readonly #preamble: Alarm;
  readonly #progress: Alarm;
  readonly #running = new Set<string>();
  #said = 0;
  #modelSpoke = false;

  constructor(deps: FillerDeps) {
    this.#deps = deps;
    this.#acknowledgement = new Alarm(deps.clock);
    this.#preamble = new Alarm(deps.clock);
    this.#progress = new Alarm(deps.clock);
  }

  onTurnStarted(): void {
    this.stop();
    if (this.#deps.acknowledges)
      this.#acknowledgement.set(acknowledgeAfterMs, () => this.#sayOne('acknowledgements'));
  }

  /** The model has said something itself. */
  onText(): void {
    this.#modelSpoke = true;
    this.#acknowledgement.cancel();
    this.#preamble.cancel();
  }

  onToolStarted(id: string): void {
    this.#acknowledgement.cancel();
    this.#running.add(id);
    if (this.#running.size > 1) return;
    if (!this.#modelSpoke) this.#preamble.set(preambleAfterMs, () => this.#sayOne('preambles'));
    this.#progress.set(progressAfterMs, () => this.#report());
  }

  onToolEnded(id: string): void {
    this.#running.delete(id);
    if (this.#running.size > 0) return;
    this.#preamble.cancel();
    this.#progress.cancel();
    this.#modelSpoke = false;
  }

  stop(): void {
    this.#running.clear();
    this.#modelSpoke = false;
    this.#acknowledgement.cancel();
    this.#preamble.cancel();
    this.#progress.cancel();
  }

  /** While something else is said, the line is tried again soon. */
  #report(): void {
    const nextMs = this.#deps.isQuiet() ? progressEveryMs : progressRetryMs;
    this.#sayOne('progress');
    this.#progress.set(nextMs, () => this.#report());
  }

  /** Rotates the phrases, so that none comes twice in a row. */
  #sayOne(kind: keyof Phrases): void {
    const choices = phrases[this.#deps.verbosity][kind];
    const text = choices[this.#said % Math.max(1, choices.length)];
    if (text === undefined || !this.#deps.isQuiet()) return;
    this.#said += 1;
    this.#deps.say(text);
  }
}
