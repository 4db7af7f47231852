import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Logger, settingsPath, watchYaml } from '@trunkline/config';
import { errorMessage, Mutex, toError } from '@trunkline/std';
import { z } from 'zod';

interface RunningService {
  url: string;
  stop(): Promise<void>;
}

export interface RestartingOptions<Options extends object, Running extends RunningService> {
  start(options: Options): Promise<Running>;
  logger: Logger;
  /** Called before the service stops for its new options. */
  onStop?(): void;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

/** A service that stops and starts again when its options change, in this process and on its port. */
export class RestartingService<Options extends object, Running extends RunningService> {
  readonly #settings: RestartingOptions<Options, Running>;
  readonly #mutex = new Mutex();
  readonly #stopping = new AbortController();
  #options: Options;
  /** Undefined while it restarts. */
  #running: Running | undefined;
  #url: string;
  #problem: string | undefined;
  /** Those that it could not start with. */
  #refused: Options | undefined;

  private constructor(options: Options, running: Running, settings: RestartingOptions<Options, Running>) {
    this.#settings = settings;
    this.#options = options;
    this.#running = running;
    this.#url = running.url;
  }

  static async start<Options extends object, Running extends RunningService>(
    options: Options,
    settings: RestartingOptions<Options, Running>,
  ): Promise<RestartingService<Options, Running>> {
    return new RestartingService(options, await settings.start(options), settings);
  }

  get url(): string {
    return this.#url;
  }

  get running(): Running | undefined {
    return this.#running;
  }

  /** Why the newest options do not count. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Runs with these options from now on. Where it cannot start with them, it goes on with those before. */
  restart(options: Options): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#stopping.signal.aborted || isDeepStrictEqual(options, this.#refused)) return;
      [this.#problem, this.#refused] = [undefined, undefined];
      if (isDeepStrictEqual(options, this.#options)) return;
      const { logger } = this.#settings;
      const changed = namesOfChanges(this.#options, options);
      logger.info({ changed }, 'settings changed, restarting');
      await this.#end();
      try {
        await this.#begin(options);
        this.#options = options;
        logger.info({ url: this.#url }, 'restarted');
      } catch (error) {
        [this.#problem, this.#refused] = [errorMessage(error), options];
        logger.error({ err: error }, 'failed to start with the new settings; the last good ones stay');
        await this.#beginAgain();
      }
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#mutex.run(() => this.#end(true));
  }

  async #end(throws = false): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    this.#settings.onStop?.();
    try {
      await running?.stop();
    } catch (error) {
      if (throws) throw error;
      this.#settings.logger.error({ err: error }, 'failed to stop cleanly');
    }
  }

  async #begin(options: Options): Promise<void> {
    // One that took any free port keeps the one it got.
    const port = Number(new URL(this.#url).port);
    this.#running = await this.#settings.start('port' in options ? { ...options, port } : options);
    this.#url = this.#running.url;
  }

  /** With the last good options, until it runs or is stopped. */
  async #beginAgain(): Promise<void> {
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LAST_RETRY_MS)) {
      try {
        return await this.#begin(this.#options);
      } catch (error) {
        this.#settings.logger.error({ err: error, retry_ms: waitMs }, 'failed to start again');
      }
      // Rejects when the service is stopped meanwhile.
      const signal = this.#stopping.signal;
      const aborted = await delay(waitMs, false, { signal }).catch(() => true);
      if (aborted) return;
    }
  }
}

/** Keys only: values may be secrets. */
function namesOfChanges(before: object, after: object): string[] {
  const value = (options: object, key: string) => (options as Record<string, unknown>)[key];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (key) => !isDeepStrictEqual(value(before, key), value(after, key)),
  );
}

export interface SettingsWatch {
  close(): Promise<void>;
}

/**
 * Tells when settings.yaml or a secret that it names has changed, whoever changed it, and when models.yaml has: it decides
 * whether a model file of the home is used. Calls do not overlap; one that fails goes to `onError`.
 */
export async function watchSettings(
  home: string,
  { onChange, onError }: { onChange(): Promise<void>; onError(error: Error): void },
): Promise<SettingsWatch> {
  let changing = Promise.resolve();
  const change = () => {
    changing = changing.then(onChange).catch((error: unknown) => onError(toError(error)));
  };
  const follow = (file: string) =>
    watchYaml(file, z.unknown(), { allowMissing: true, expand: false, onChange: change, onError: change });
  const watches = await Promise.all([follow(settingsPath(home)), follow(`${home}/models.yaml`)]);
  return {
    async close() {
      await Promise.all(watches.map((watch) => watch.close()));
      await changing;
    },
  };
}
