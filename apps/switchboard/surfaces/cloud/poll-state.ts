import { createHash } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';

const dayMs = 24 * 60 * 60 * 1000;
const markMs = 60 * dayMs;
/** Mail may stand under its label for years, and one that is forgotten would be told again. */
const mailMs = 3650 * dayMs;
/** So many are known without a question to the bus; each poll asks for the newest. */
const mostRemembered = 20_000;
const cleared = '';

/** How far the calendar and each label of the mail were read, by whichever switchboard on the bus. */
export class PollState {
  readonly #marks: Memory;
  readonly #mails: Memory;
  readonly #remembered = new Set<string>();

  private constructor(marks: Memory, mails: Memory) {
    this.#marks = marks;
    this.#mails = mails;
  }

  static async open(bus: Bus): Promise<PollState> {
    return new PollState(
      await bus.memory('cloud-marks', { ttlMs: markMs }),
      await bus.memory('cloud-mails', { ttlMs: mailMs }),
    );
  }

  async mark(name: string): Promise<string | undefined> {
    return (await this.#marks.recall(keyOf(name))) || undefined;
  }

  async setMark(name: string, value: string): Promise<void> {
    await this.#marks.replace(keyOf(name), value);
  }

  async clearMark(name: string): Promise<void> {
    await this.#marks.replace(keyOf(name), cleared);
  }

  async hasSeen(mailId: string): Promise<boolean> {
    if (this.#remembered.has(mailId)) return true;
    const isSeen = (await this.#mails.recall(keyOf(mailId))) !== undefined;
    if (isSeen) this.#remember(mailId);
    return isSeen;
  }

  async see(mailId: string): Promise<void> {
    await this.#mails.keep(keyOf(mailId), 'seen');
    this.#remember(mailId);
  }

  #remember(mailId: string): void {
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear();
    this.#remembered.add(mailId);
  }
}

function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}
