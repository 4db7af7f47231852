import type { Logger } from '@trunkline/config';
import { createKeyring, type Keyring } from '@trunkline/http';
import { wordsOf } from '../errors.ts';
import { Renewal } from '../renewal.ts';
import { type Roster, readRoster } from './roster.ts';
import type { RosterOrigin, RosterSource } from './roster-source.ts';
import { defaultUser, type User } from './user.ts';

/** Open: no roster is configured. Closed: one is, but it cannot be read. */
type Access =
  | { mode: 'open' }
  | { mode: 'enforced'; roster: Roster; origin: RosterOrigin }
  | { mode: 'closed'; origin: RosterOrigin; reason: string };

export interface UserDirectoryOptions {
  /** The secrets manager, where it is configured; the file stands in for it when it fails. */
  secrets: RosterSource | undefined;
  file: RosterSource;
  logger: Logger;
  /** How long to wait before a roster that could not be read is tried again. */
  retryMs?: number;
}

const nobody: Keyring<User> = createKeyring([]);

/** Who may call. A roster that cannot be read lets nobody in, and is tried again until it can. */
export class UserDirectory {
  readonly #options: UserDirectoryOptions;
  #access: Access = { mode: 'closed', origin: 'file', reason: 'not loaded yet' };
  #retry: NodeJS.Timeout | undefined;
  readonly #renewal = new Renewal(async () => {
    this.#access = await this.#load();
  });
  #stopped = false;

  constructor(options: UserDirectoryOptions) {
    this.#options = options;
  }

  /** Loads the roster at the start. */
  async start(): Promise<void> {
    try {
      await this.reload();
    } catch (error) {
      const reason = wordsOf(error);
      this.#options.logger.error({ reason }, 'the roster cannot be read: nobody can call until it can');
      this.#access = { mode: 'closed', origin: this.#options.secrets?.origin ?? 'file', reason };
      this.#planRetry();
    }
  }

  /** Reads the roster anew; on a failure what was loaded stays, and the failure is thrown. */
  reload(): Promise<void> {
    return this.#renewal.run();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
  }

  get keyring(): Keyring<User> {
    return this.#access.mode === 'enforced' ? this.#access.roster.keyring : nobody;
  }

  /** The caller while no roster is configured at all. */
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

  /** Ids in order; empty in single-user mode. */
  get ids(): string[] {
    return this.#access.mode === 'enforced' ? [...this.#access.roster.users.keys()].sort() : [];
  }

  find(id: string): User | undefined {
    if (this.#access.mode === 'enforced') return this.#access.roster.users.get(id);
    return id === defaultUser.id ? this.openCaller : undefined;
  }

  async #load(): Promise<Access> {
    const { secrets, file, logger } = this.#options;
    if (secrets === undefined) return this.#read(file);
    try {
      return await this.#read(secrets);
    } catch (error) {
      if (this.#holdsRosterOf(secrets)) throw error;
      logger.warn({ reason: wordsOf(error) }, 'the secrets manager gives no roster: the file is used');
      const access = await this.#read(file);
      // Single-user mode is for services without any roster, and one is configured.
      if (access.mode !== 'enforced') throw error;
      return access;
    }
  }

  /** A roster that came from the same place and is still good is better than a fallback. */
  #holdsRosterOf({ origin }: RosterSource): boolean {
    return this.#access.mode === 'enforced' && this.#access.origin === origin;
  }

  async #read(source: RosterSource): Promise<Access> {
    const text = await source.read();
    if (text === undefined) return { mode: 'open' };
    const roster = readRoster(text, (words) => this.#options.logger.warn({}, words));
    if (roster.users.size === 0) return { mode: 'open' };
    return { mode: 'enforced', roster, origin: source.origin };
  }

  #planRetry(): void {
    const retry = () => void this.start();
    if (!this.#stopped) this.#retry = setTimeout(retry, this.#options.retryMs ?? 15_000).unref();
  }
}
