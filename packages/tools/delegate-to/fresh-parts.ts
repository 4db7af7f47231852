import { hash } from 'node:crypto';
import type { RemoteReply } from '@trunkline/a2a';
import { BoundedMap } from '@trunkline/std';

type Part = RemoteReply['artifacts'][number]['parts'][number];

const mostTasks = 1000;

/** A task that asks back holds all that it has made with its question, and once more with its answer. */
export class FreshParts {
  readonly #seen = new BoundedMap<string, ReadonlySet<string>>(mostTasks);

  /** The parts of a reply's artifacts that its task's last question did not come with; one that changed since is new. */
  of({ taskId = '', state, artifacts }: Pick<RemoteReply, 'taskId' | 'state' | 'artifacts'>): Part[] {
    const seen = this.#seen.get(taskId);
    const parts = artifacts
      .flatMap((artifact) => artifact.parts)
      .map((part) => ({ part, key: hash('sha256', JSON.stringify(part)) }));
    if (state !== 'input-required') this.#seen.delete(taskId);
    else if (taskId !== '') this.#seen.set(taskId, new Set(parts.map(({ key }) => key)));
    return parts.filter(({ key }) => !seen?.has(key)).map(({ part }) => part);
  }
}
