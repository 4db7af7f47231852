import type { Reply } from './reply.ts';

const mostPerUtterance = 4;

/** Answers that are begun while it is not yet certain that the speaker has finished; at most one at a time. */
export class PreemptiveGeneration {
  #draft: Reply | undefined;
  #begun = 0;

  get current(): Reply | undefined {
    return this.#draft;
  }

  /** Begins one, unless there is one to the same text, or too many were begun in vain. */
  begin(text: string, create: () => Reply): void {
    if (this.#draft?.text === text || this.#begun >= mostPerUtterance) return;
    this.drop();
    this.#begun += 1;
    this.#draft = create();
  }

  /** The one to this text, if there is one; any other is given up. */
  take(text: string): Reply | undefined {
    const draft = this.#draft;
    if (draft?.text !== text) this.drop();
    this.#draft = undefined;
    return draft?.text === text ? draft : undefined;
  }

  drop(): void {
    this.#draft?.abandon();
    this.#draft = undefined;
  }

  /** The next utterance begins. */
  renew(): void {
    this.#begun = 0;
  }
}
