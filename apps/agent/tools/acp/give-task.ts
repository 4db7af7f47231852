import type { AcpAgent } from './run-agent.ts';

/** Gives a task to an agent process. The protocol's library is heavy, so it is loaded with the first task. */
export async function giveTask(agent: AcpAgent, task: string, signal: AbortSignal): Promise<string> {
  const { runAcpAgent } = await import('./run-agent.ts');
  return runAcpAgent(agent, task, signal);
}
