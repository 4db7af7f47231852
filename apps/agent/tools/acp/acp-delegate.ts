import { type Delegate, DelegateError } from '@trunkline/tools';
import { giveTask } from './give-task.ts';
import type { AcpAgent } from './run-agent.ts';

/** A delegate that runs as a process and speaks ACP. */
export function createAcpDelegate(agent: AcpAgent, description: string): Delegate {
  return {
    name: agent.name,
    description,
    timeoutMs: agent.timeoutMs,
    async ask(query, { signal }) {
      try {
        return await giveTask(agent, query, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const words = error instanceof Error ? error.message : String(error);
        throw new DelegateError('delegate_failed', words, { cause: error });
      }
    },
  };
}
