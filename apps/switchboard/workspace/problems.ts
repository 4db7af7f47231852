import type { Bus, Draft } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';

export interface Problem {
  file: string;
  error: string;
  /** In milliseconds since 1970. */
  since: number;
}

/** Current problems of the workspace; each new one is reported once. */
export class Problems {
  readonly #byFile = new Map<string, Problem>();
  readonly #tell: (problem: Problem) => void;

  constructor(tell: (problem: Problem) => void) {
    this.#tell = tell;
  }

  /** Undefined: the file is valid again. */
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

/** Reports a problem in the log and on the bus. */
export async function reportProblem(bus: Bus, logger: Logger, { file, error }: Problem): Promise<void> {
  logger.error({ file, error }, 'workspace file cannot be used');
  await reportError(bus, logger, { source: 'workspace', plugin: 'workspace', error, file });
}

/** Publishes `system.error`, which alerting reads; a failure to publish is only logged. */
export function reportError(
  bus: Bus,
  logger: Logger,
  payload: { source: string; plugin: string; error: string; topic?: string; file?: string },
  cause: Pick<Draft, 'correlationId' | 'parentId' | 'principal'> = {},
): Promise<void> {
  return announce(bus, logger, { topic: 'system.error', payload, ...cause });
}

/** Publishes; a failure is only logged. */
export async function announce(bus: Bus, logger: Logger, draft: Draft): Promise<void> {
  try {
    await bus.publish(draft);
  } catch (error) {
    logger.warn({ err: error, topic: draft.topic }, 'failed to publish');
  }
}
