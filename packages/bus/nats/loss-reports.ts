import type { KV } from '@nats-io/kv';
import { errorTopic } from '../delivery/live-subscription.ts';
import type { BusLogger, Draft } from '../port.ts';
import type { Loss } from './stream-keeper.ts';
import type { StreamRecords } from './stream-records.ts';

interface LossReportSettings {
  /** Holds who reports a loss, and which losses are reported. */
  marks: KV;
  publish(draft: Draft): Promise<unknown>;
  /** Creates again what has vanished: the marks may be among it. Never rejects. */
  restore(): Promise<void>;
  /** What is recorded here is not reported after a restart. */
  records: StreamRecords;
  logger: BusLogger;
}

/** Whoever has claimed a report and has not made it by then has died. */
const claimMs = 10_000;
const retryMs = 2000;
const isReported = 'reported';

/**
 * Publishes what may be lost, once among all buses that found out: who reports claims it first and marks it as reported
 * last, so that another makes the report of one that died between the two.
 */
export class LossReports {
  readonly #settings: LossReportSettings;
  /** By stream: a later loss of the same one takes the place of an earlier. */
  readonly #waiting = new Map<string, Loss>();
  #isHeard = false;
  #isRunning = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: LossReportSettings) {
    this.#settings = settings;
  }

  /** What is found at the start is reported as soon as somebody on this bus listens, anything else at once. */
  add(loss: Loss): void {
    this.#waiting.set(loss.stream, loss);
    if (this.#isDue(loss)) void this.#run();
  }

  /** Somebody listens. */
  heard(): void {
    this.#isHeard = true;
    if (this.#waiting.size > 0) void this.#run();
  }

  #isDue({ isEarlier }: Loss): boolean {
    return this.#isHeard || isEarlier !== true;
  }

  async #run(): Promise<void> {
    if (this.#isRunning || this.#isClosed) return;
    this.#isRunning = true;
    clearTimeout(this.#timer);
    for (const loss of [...this.#waiting.values()].filter((each) => this.#isDue(each))) {
      const isDone = await this.#report(loss).catch((error: unknown) => {
        this.#settings.logger.error({ stream: loss.stream, err: error }, `failed to publish ${errorTopic}`);
        return false;
      });
      if (isDone && this.#waiting.get(loss.stream) === loss) this.#waiting.delete(loss.stream);
    }
    this.#isRunning = false;
    const isLeft = [...this.#waiting.values()].some((each) => this.#isDue(each));
    if (isLeft && !this.#isClosed) this.#timer = setTimeout(() => void this.#run(), retryMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** False while another reports it. */
  async #report(loss: Loss): Promise<boolean> {
    const { publish, records, marks } = this.#settings;
    const { stream, words, created } = loss;
    const key = created === undefined ? undefined : `vanished.${stream}.${Date.parse(created)}`;
    const claim = key === undefined ? 'ours' : await this.#claim(key);
    if (claim === 'theirs') return false;
    if (claim === 'ours') {
      await publish({ topic: errorTopic, payload: { source: 'bus', plugin: 'bus', stream, error: words } });
      // A second report is better than none.
      if (key !== undefined) await marks.put(key, isReported).catch(() => undefined);
    }
    if (created !== undefined) await records.set(stream, created);
    return true;
  }

  async #claim(key: string): Promise<'ours' | 'theirs' | 'done'> {
    const { marks, restore } = this.#settings;
    await restore();
    try {
      await marks.create(key, '');
      return 'ours';
    } catch {
      const mark = await marks.get(key).catch(() => null);
      if (mark === null) return 'ours';
      if (mark.string() === isReported) return 'done';
      return Date.now() - mark.created.getTime() > claimMs ? 'ours' : 'theirs';
    }
  }
}
