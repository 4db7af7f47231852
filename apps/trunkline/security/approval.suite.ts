import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ask, json, type obeyEverything, openMode, order, startAttack } from './attack.suite.ts';

/** The operator turned commands on in the agent; everybody on the machine may give it tasks. */
export async function startApprovals(script?: typeof obeyEverything) {
  const attack = await startAttack({
    env: openMode,
    files: {
      'voice/config/users.yaml': 'users: []',
      'agent/config/agent.yaml': 'filesystem: { enabled: true, run_command: true }\n',
    },
    ...(script && { script }),
  });
  const url = attack.url('agent');
  let count = 0;
  const marker = () => join(attack.outside, `ran-${count}`);
  const shell = (command = `echo ran >> ${marker()}`) => order('run_command', { command });
  return {
    attack,
    url,
    /** Written by every run of the command since the last `begin`. */
    marker,
    begin: () => {
      count += 1;
    },
    /** The words that make the agent ask for leave. */
    shell,
    runs: () => (existsSync(marker()) ? readFileSync(marker(), 'utf8').split('\n').length - 1 : 0),
    /** A task that waits for leave to run the command. */
    async parked(command?: string) {
      const { task } = await ask(url, shell(command));
      expect(task.status.state).toBe('input-required');
      return task;
    },
    async stateOf(id: string): Promise<string> {
      const call = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id } };
      const { body } = await json<{ result: { status: { state: string } } }>(`${url}/a2a`, call);
      return body.result.status.state;
    },
    /** Answers as the operator. */
    approve: async (id: string, text = 'yes') =>
      json(`${url}/api/tasks/${id}/answer`, { text }, await attack.operator('agent')),
  };
}

export type Approvals = Awaited<ReturnType<typeof startApprovals>>;
