import type { Bus, Draft } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';

/** A file of the workspace that cannot be used as it is. */
export interface Problem {
  file: string;
  error: string;
  /** When it was found, in milliseconds since 1970. */
  since: number;
}

/** What is wrong with the workspace now; each new problem is reported once. */
export class Problems {
  readonly #byFile = new Map<string, Problem>();
  readonly #tell: (problem: Problem) => void;

  constructor(tell: (problem: Problem) => void) {
    this.#tell = tell;
  }

  /** Records what is wrong with a file, or with undefined that it is valid again. */
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

/** Says in the log and on the bus that a file of the workspace cannot be used. */
export async function reportProblem(bus: Bus, logger: Logger, { file, error }: Problem): Promise<void> {
  logger.error({ file }, error);
  await announce(bus, logger, {
    topic: 'system.error',
    payload: { source: 'workspace', plugin: 'workspace', error, file },
  });
}

/** Publishes what nobody waits for; a failure is only logged. */
export async function announce(bus: Bus, logger: Logger, draft: Draft): Promise<void> {
  try {
    await bus.publish(draft);
  } catch (error) {
    logger.warn({ err: error, topic: draft.topic }, 'failed to publish');
  }
}
