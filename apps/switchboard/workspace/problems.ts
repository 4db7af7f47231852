import { errorMessage } from '@trunkline/std';
/** A file of the workspace that cannot be used as it is. */
export interface Problem {
  file: string;
  error: string;
  /** When it was found, in milliseconds since 1970. */
  since: number;
}

/** What is wrong with the workspace now; each new problem is told once. */
export class Problems {
  readonly #byFile = new Map<string, Problem>();
  readonly #tell: (problem: Problem) => void;

  constructor(tell: (problem: Problem) => void) {
    this.#tell = tell;
  }

  /** Notes what is wrong with a file, or with undefined that it is well again. */
  note(file: string, error: unknown): void {
    if (error === undefined) {
      this.#byFile.delete(file);
      return;
    }
    const words = errorMessage(error);
    if (this.#byFile.get(file)?.error === words) return;
    const problem = { file, error: words, since: Date.now() };
    this.#byFile.set(file, problem);
    this.#tell(problem);
  }

  list(): Problem[] {
    return [...this.#byFile.values()];
  }
}
