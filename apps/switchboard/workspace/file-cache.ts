import { join } from 'node:path';
import { entryIn, spellingsOf, twiceWords } from './file-names.ts';
import type { Problems } from './problems.ts';

export interface ShelfSettings<Value> {
  directory: string;
  problems: Problems;
  /** The name that an entry gives itself, and the field in which it does. */
  nameOf: (value: Value) => string;
  key: string;
}

/** The entries of one folder by their files, and what is wrong with those that cannot be used. */
export class FileCache<Value> {
  readonly #settings: ShelfSettings<Value>;
  readonly #good = new Map<string, Value>();
  readonly #wrong = new Map<string, unknown>();

  constructor(settings: ShelfSettings<Value>) {
    this.#settings = settings;
  }

  /** A file whose name does not fit its entry is refused; the last good value stays. */
  put(file: string, value: Value): void {
    const words = this.#misnamed(file, value);
    if (words === undefined) {
      this.#good.set(file, value);
      this.#wrong.delete(file);
    } else this.#wrong.set(file, words);
    this.#tell(file);
  }

  refuse(file: string, error: unknown): void {
    this.#wrong.set(file, error);
    this.#tell(file);
  }

  remove(file: string): void {
    this.#good.delete(file);
    this.#wrong.delete(file);
    this.#tell(file);
  }

  values(): Value[] {
    return [...this.#good].filter(([file]) => !this.#isSecond(file)).map(([, value]) => value);
  }

  #misnamed(file: string, value: Value): string | undefined {
    const { directory, nameOf, key } = this.#settings;
    const [name, path] = [nameOf(value), join(directory, file)];
    if (entryIn(file) === name) return undefined;
    return `${path}: its ${key} is ${name}; call the file ${name}.yaml, or change the ${key}`;
  }

  /** What a file says counts for the other spelling of its name too. */
  #tell(changed: string): void {
    const { problems, directory } = this.#settings;
    for (const file of new Set([changed, ...spellingsOf(changed)])) {
      const path = join(directory, file);
      const words = this.#isSecond(file) ? twiceWords(path) : undefined;
      problems.note(path, this.#wrong.get(file) ?? words);
    }
  }

  #isSecond(file: string): boolean {
    const [first, second] = spellingsOf(file);
    return file === second && this.#knows(first) && this.#knows(second);
  }

  #knows(file: string): boolean {
    return this.#good.has(file) || this.#wrong.has(file);
  }
}
