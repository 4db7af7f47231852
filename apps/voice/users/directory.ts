import type { Logger } from '@trunkline/config';
import { createKeyring, type Keyring } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { Reloader } from '../store/reload.ts';
import { type Roster, readRoster } from './roster.ts';
import type { RosterMarker, RosterOrigin, RosterSource } from './roster-sources.ts';
import { defaultUser, type User } from './user.ts';

/** Open: no roster was ever configured. Closed: one was, but it is missing or cannot be used. */
type Access =
  | { mode: 'open' }
  | { mode: 'enforced'; roster: Roster; origin: RosterOrigin }
  | { mode: 'closed'; origin: RosterOrigin; reason: string };

export interface UserDirectoryOptions {
  /** If it fails, the file is used. */
  secrets: RosterSource | undefined;
  file: RosterSource;
  marker: RosterMarker;
  logger: Logger;
  /** Called with the users of each roster that was loaded; none in single-user mode. */
  onLoaded?: (users: readonly User[]) => void;
  /** Delay before the next attempt to load a roster. */
  retryMs?: number;
}

const nobody: Keyring<User> = createKeyring([]);

/**
 * Who may call. Single-user mode is for services that never had a roster: once one was configured, a roster that is
 * missing or broken lets nobody in, and is tried again until it can be used. A running service that has a good roster
 * keeps it when a reload fails.
 */
export class UserDirectory {
  readonly #options: UserDirectoryOptions;
  #access: Access = { mode: 'closed', origin: 'file', reason: 'not loaded yet' };
  /** Why the last load failed. */
  #failure: string | undefined;
  #retry: NodeJS.Timeout | undefined;
  readonly #reloader = new Reloader(() => this.#renew());
  #stopped = false;

  constructor(options: UserDirectoryOptions) {
    this.#options = options;
  }

  /** Loads the roster; a failure is logged and retried. */
  async start(): Promise<void> {
    await this.reload().catch(() => undefined);
  }

  /** A failure is logged and thrown; a good roster stays in use. */
  reload(): Promise<void> {
    return this.#reloader.run();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
  }

  get keyring(): Keyring<User> {
    return this.#access.mode === 'enforced' ? this.#access.roster.keyring : nobody;
  }

  /** The caller, if no roster was ever configured. */
  get openCaller(): User | undefined {
    return this.#access.mode === 'open' ? defaultUser : undefined;
  }

  get source(): RosterOrigin | 'empty' {
    return this.#access.mode === 'open' ? 'empty' : this.#access.origin;
  }

  /** Why nobody can call, if so. */
  get closedBecause(): string | undefined {
    return this.#access.mode === 'closed' ? this.#access.reason : undefined;
  }

  /** Why an older roster is in use, if so. */
  get outdatedBecause(): string | undefined {
    return this.#access.mode === 'enforced' ? this.#failure : undefined;
  }

  /** Sorted; empty in single-user mode. */
  get ids(): string[] {
    return this.#access.mode === 'enforced' ? [...this.#access.roster.users.keys()].sort() : [];
  }

  find(id: string): User | undefined {
    if (this.#access.mode === 'enforced') return this.#access.roster.users.get(id);
    return id === defaultUser.id ? this.openCaller : undefined;
  }

  async #renew(): Promise<void> {
    try {
      this.#access = await this.#load();
      this.#failure = undefined;
      const users = this.#access.mode === 'enforced' ? [...this.#access.roster.users.values()] : [];
      this.#options.onLoaded?.(users);
    } catch (error) {
      this.#fail(errorMessage(error));
      throw error;
    }
  }

  #fail(reason: string): void {
    const { logger, secrets } = this.#options;
    const isNew = reason !== this.#failure;
    this.#failure = reason;
    if (this.#access.mode === 'enforced') {
      logger.error({ reason }, 'failed to reload the roster; the last good one stays in use');
      return;
    }
    if (isNew) logger.error({ reason }, 'failed to load the roster; nobody can call');
    this.#access = { mode: 'closed', origin: secrets?.origin ?? 'file', reason };
    this.#planRetry();
  }

  async #load(): Promise<Access> {
    const { secrets, file } = this.#options;
    if (secrets !== undefined) return this.#loadSecret(secrets);
    const access = await this.#read(file);
    return access ?? this.#openOrRefuse();
  }

  /** The secrets manager counts as a configured roster: without users there or in the file nobody gets in. */
  async #loadSecret(secrets: RosterSource): Promise<Access> {
    const { file, logger } = this.#options;
    try {
      const access = await this.#read(secrets);
      if (access === undefined) throw new Error(`The ${secrets.name} has no users.`);
      return access;
    } catch (error) {
      if (this.#holdsRosterOf(secrets)) throw error;
      logger.warn(
        { reason: errorMessage(error) },
        'failed to read the roster from the secrets manager; using the file',
      );
      const access = await this.#read(file);
      if (access === undefined) throw error;
      return access;
    }
  }

  /** A good roster from the same source is better than a fallback. */
  #holdsRosterOf({ origin }: RosterSource): boolean {
    return this.#access.mode === 'enforced' && this.#access.origin === origin;
  }

  async #openOrRefuse(): Promise<Access> {
    const { file, marker } = this.#options;
    if (!(await marker.exists())) return { mode: 'open' };
    throw new Error(
      `${file.name} is missing or has no users, but this service was given a roster before. Put it back, or delete it and ${marker.path} to go back to single-user mode, where everybody is admin.`,
    );
  }

  /** Undefined if the source has no roster, or one without users. */
  async #read(source: RosterSource): Promise<Access | undefined> {
    const text = await source.read();
    if (text === undefined) return undefined;
    try {
      const roster = readRoster(text, (message) => this.#options.logger.warn({}, message));
      if (roster.users.size === 0) return undefined;
      await this.#mark(source);
      return { mode: 'enforced', roster, origin: source.origin };
    } catch (error) {
      // A broken roster counts as configured.
      await this.#mark(source);
      throw error;
    }
  }

  async #mark({ name }: RosterSource): Promise<void> {
    const { marker, logger } = this.#options;
    try {
      if (!(await marker.exists())) await marker.write(name);
    } catch (error) {
      logger.error({ err: error, file: marker.path }, 'failed to record that a roster is configured');
    }
  }

  #planRetry(): void {
    clearTimeout(this.#retry);
    const retry = () => void this.start();
    if (!this.#stopped) this.#retry = setTimeout(retry, this.#options.retryMs ?? 15_000).unref();
  }
}
