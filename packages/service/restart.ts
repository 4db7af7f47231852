import { isDeepStrictEqual } from 'node:util';
import { type Environment, type Logger, readEnvironment, settingsPath, watchYaml } from '@trunkline/config';
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
  #isStopped = false;
  #options: Options;
  /** Undefined while it restarts, and while it can start with nothing. */
  #running: Running | undefined;
  #retry: NodeJS.Timeout | undefined;
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

  /**
   * Runs with these options from now on. Where it cannot start with them, it goes on with those before; where it cannot with
   * those either, it tries both again later, until then or until newer options come.
   */
  restart(options: Options): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#isStopped || isDeepStrictEqual(options, this.#refused)) return;
      [this.#problem, this.#refused] = [undefined, undefined];
      if (this.#running !== undefined && isDeepStrictEqual(options, this.#options)) return;
      const changed = namesOfChanges(this.#options, options);
      this.#settings.logger.info({ changed }, 'settings changed, restarting');
      await this.#end();
      await this.#beginEither(options);
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#mutex.run(() => this.#end(true));
  }

  async #end(throws = false): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    clearTimeout(this.#retry);
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
    const { port: written, protocol } = new URL(this.#url);
    const port = Number(written) || (protocol === 'https:' ? 443 : 80);
    this.#running = await this.#settings.start('port' in options ? { ...options, port } : options);
    this.#url = this.#running.url;
  }

  /** With these options, else with the last good ones, else later. */
  async #beginEither(options: Options, waitMs = FIRST_RETRY_MS): Promise<void> {
    const { logger } = this.#settings;
    try {
      await this.#begin(options);
      [this.#options, this.#problem, this.#refused] = [options, undefined, undefined];
      logger.info({ url: this.#url }, 'restarted');
      return;
    } catch (error) {
      [this.#problem, this.#refused] = [errorMessage(error), options];
      logger.error({ err: error }, 'failed to start with the new settings; the last good ones stay');
    }
    try {
      if (!this.#isStopped) await this.#begin(this.#options);
    } catch (error) {
      logger.error({ err: error, retry_ms: waitMs }, 'failed to start again');
      const again = () => this.#beginEither(options, Math.min(waitMs * 2, LAST_RETRY_MS));
      const retry = () =>
        this.#mutex.run(() => (this.#refused === options && !this.#isStopped ? again() : undefined));
      this.#retry = setTimeout(() => void retry(), waitMs);
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

interface SettingsWatchOptions {
  /** Says how the secrets of the home are opened; the process's own when not given. */
  env?: Environment | undefined;
  onChange(): Promise<void>;
  onError(error: Error): void;
}

/**
 * Tells when settings.yaml or a secret that it names has changed, whoever changed it, and when models.yaml has: it decides
 * whether a model file of the home is used. Calls do not overlap; one that fails goes to `onError`.
 */
export async function watchSettings(
  home: string,
  { env = readEnvironment(), onChange, onError }: SettingsWatchOptions,
): Promise<SettingsWatch> {
  let changing = Promise.resolve();
  const change = () => {
    changing = changing.then(onChange).catch((error: unknown) => onError(toError(error)));
  };
  const secrets = { ...env, TRUNKLINE_HOME: home };
  const calls = { onChange: change, onError: change };
  const follow = (file: string) =>
    watchYaml(file, z.unknown(), { allowMissing: true, expand: false, env: secrets, ...calls });
  const watches = await Promise.all([follow(settingsPath(home)), follow(`${home}/models.yaml`)]);
  return {
    async close() {
      await Promise.all(watches.map((watch) => watch.close()));
      await changing;
    },
  };
}
