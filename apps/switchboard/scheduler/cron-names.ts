import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { entryIn, spellingsOf, standingFile, standsTwice, twiceWords } from '../workspace/follow.ts';

/** File names of `crons/`. Nearly all end in .yaml, so only the others are remembered. */
export class CronNames {
  readonly #directory: string;
  readonly #onProblem: (path: string, error: unknown) => void;
  readonly #others = new Set<string>();
  readonly #twice = new Set<string>();

  constructor(directory: string, onProblem: (path: string, error: unknown) => void) {
    this.#directory = directory;
    this.#onProblem = onProblem;
  }

  path(id: string): string {
    return join(this.#directory, `${id}${this.#others.has(id) ? '.yml' : '.yaml'}`);
  }

  look(id: string): void {
    const [first] = spellingsOf(`${id}.yaml`);
    this.#note(id, standingFile(this.#directory, first) !== first, standsTwice(this.#directory, first));
  }

  /** Ids of all schedules in the folder. */
  all(): string[] {
    const files = new Set(readdirSync(this.#directory));
    const ids = new Set([...files].flatMap((file) => entryIn(file) ?? []));
    for (const id of ids) {
      const [first, second] = spellingsOf(`${id}.yaml`);
      this.#note(id, !files.has(first), files.has(first) && files.has(second));
    }
    return [...ids];
  }

  #note(id: string, isOther: boolean, isTwice: boolean): void {
    if (isOther) this.#others.add(id);
    else this.#others.delete(id);
    if (isTwice === this.#twice.has(id)) return;
    const [first, second] = spellingsOf(join(this.#directory, `${id}.yaml`));
    this.#onProblem(second, isTwice ? twiceWords(first) : undefined);
    if (isTwice) this.#twice.add(id);
    else this.#twice.delete(id);
  }
}
