import type { Clock } from '@trunkline/schedule';
import type { FillerPhrases, Language } from '../../languages/languages.ts';
import type { Verbosity } from '../../skills/skill.ts';
import { Alarm } from '../clock.ts';

export interface FillerDeps {
  clock: Clock;
  verbosity: Verbosity;
  language(): Language;
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
  #sayOne(kind: keyof FillerPhrases): void {
    const { language, verbosity } = this.#deps;
    const choices = language().fillers[verbosity][kind];
    const text = choices[this.#said % Math.max(1, choices.length)];
    if (text === undefined || !this.#deps.isQuiet()) return;
    this.#said += 1;
    this.#deps.say(text);
  }
}
