import type { Entry, Fire, Job, SchedulerHooks } from './entry.ts';

export type FireOutcome = 'done' | 'failed';

export interface RunnerOptions<J extends Job> {
  handler: (job: J, fire: Fire) => unknown;
  hooks: SchedulerHooks<J>;
  /** How many fires of one job may wait or, with `allow`, run at once. */
  overlapLimit: number;
  /** Told of each fire that ran. */
  onSettled: (entry: Entry<J>, fire: Fire, outcome: FireOutcome) => void;
}

/** Runs fires by the overlap rule of their job. A failure is reported and goes no further. */
export class Runner<J extends Job> {
  readonly #options: RunnerOptions<J>;
  readonly #running = new Map<Fire, Promise<void>>();
  readonly #telling = new Set<Promise<unknown>>();
  #stopped = false;

  constructor(options: RunnerOptions<J>) {
    this.#options = options;
  }

  /** Runs the fire, lets it wait, or reports it as skipped. */
  submit(entry: Entry<J>, fire: Fire): void {
    if (this.#mayRun(entry)) this.#run(entry, fire);
    else if (this.#mayWait(entry)) entry.wait(fire);
    else this.tell(entry.job, 'onSkipped', (hook) => hook(entry.job, fire), fire);
  }

  /** True when a fire of this job would be skipped at the moment. */
  isFull(entry: Entry<J>): boolean {
    return !this.#mayRun(entry) && !this.#mayWait(entry);
  }

  /** Calls a hook, if there is one, and reports its failure. */
  tell<Name extends keyof SchedulerHooks<J>>(
    job: J,
    name: Name,
    call: (hook: NonNullable<SchedulerHooks<J>[Name]>) => unknown,
    fire?: Fire,
  ): void {
    const hook = this.#options.hooks[name];
    if (hook === undefined) return;
    const told = this.#guarded(job, fire, () => call(hook)).finally(() => this.#telling.delete(told));
    this.#telling.add(told);
  }

  /** Starts nothing more; resolves when all that runs has ended, hooks included. */
  async stop(): Promise<void> {
    this.#stopped = true;
    while (this.#running.size + this.#telling.size > 0) {
      await Promise.all([...this.#running.values(), ...this.#telling]);
    }
  }

  /** The ids of the fires that run now. */
  runningFires(): string[] {
    return [...this.#running.keys()].map((fire) => fire.fireId);
  }

  #mayRun(entry: Entry<J>): boolean {
    return (
      entry.running === 0 || (entry.job.overlap === 'allow' && entry.running < this.#options.overlapLimit)
    );
  }

  /** A one-shot waits whatever its rule, as it has no later time. */
  #mayWait(entry: Entry<J>): boolean {
    const waits = entry.job.overlap === 'queue' || entry.schedule.type === 'once';
    return waits && (entry.waiting?.length ?? 0) < this.#options.overlapLimit;
  }

  #run(entry: Entry<J>, fire: Fire): void {
    entry.running += 1;
    this.#running.set(fire, this.#perform(entry, fire));
  }

  async #perform(entry: Entry<J>, fire: Fire): Promise<void> {
    const { job } = entry;
    const outcome = await this.#attempt(job, fire);
    this.#running.delete(fire);
    entry.running -= 1;
    this.#options.onSettled(entry, fire, outcome);
    const next = this.#stopped ? undefined : entry.waiting?.shift();
    if (next !== undefined) this.#run(entry, next);
  }

  async #attempt(job: J, fire: Fire): Promise<FireOutcome> {
    const { beforeFire, afterFire } = this.#options.hooks;
    if (beforeFire !== undefined) {
      const { value, failure } = await this.#guarded(job, fire, () => beforeFire(job, fire));
      if (failure !== undefined) return 'failed';
      if (value === false) return 'done';
    }
    const { failure } = await this.#guarded(job, fire, () => this.#options.handler(job, fire));
    if (afterFire !== undefined) await this.#guarded(job, fire, () => afterFire(job, fire, failure));
    return failure === undefined ? 'done' : 'failed';
  }

  /** Runs foreign code, synchronous or not; whatever it throws is reported and given back as a value. */
  async #guarded(job: J, fire: Fire | undefined, work: () => unknown): Promise<Guarded> {
    try {
      return { value: await work(), failure: undefined };
    } catch (error) {
      this.#report(error, job, fire);
      return { value: undefined, failure: { error } };
    }
  }

  #report(error: unknown, job: J, fire: Fire | undefined): void {
    try {
      this.#options.hooks.onError(error, job, fire);
    } catch (second) {
      process.emitWarning(
        `onError of the scheduler failed for ${job.id}: ${second}; it was to report: ${error}`,
      );
    }
  }
}

interface Guarded {
  value: unknown;
  failure: { error: unknown } | undefined;
}
