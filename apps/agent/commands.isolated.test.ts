import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findIsolation } from '@trunkline/sandbox';
import {
  type Child,
  type ModelServer,
  startModelServer,
  type TemporaryHome,
  temporaryHome,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeConfig } from './fixtures/start-agent.ts';
import { startAgentProcess } from './fixtures/start-agent-process.ts';

const goesAway = "setsid sh -c 'echo $$ > away; sleep 300' & echo $$ > here; sleep 300";

let home: TemporaryHome;
let model: ModelServer;
const children: Child[] = [];

beforeEach(async () => {
  home = temporaryHome();
  model = await startModelServer();
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  await model.stop();
  home.remove();
});

/** Without a sandbox, whose processes end with the service by themselves. */
const startProcess = (sandbox = 'off') => {
  writeConfig(home.environment.TRUNKLINE_HOME ?? '', 'filesystem: { run_command: true }');
  return startAgentProcess(home, model, children, {
    CORE_WORKSPACE: home.path,
    TRUNKLINE_SANDBOX: sandbox,
    TRACE_SECRET_KEY: 'key-of-the-traces',
  });
};

/** An agent in the middle of an approved command, one part of which has left its group. */
async function startCommand() {
  const agent = await startProcess();
  model.enqueue({ toolCalls: [{ name: 'run_command', arguments: { command: goesAway } }] });
  const { id: taskId, contextId, status } = await agent.send('Run it.');
  expect(status.state).toBe('input-required');
  await agent.send('yes', { taskId, contextId }, { configuration: { blocking: false } });
  const pids = await waitFor(() => ['away', 'here'].map(pidIn));
  return { agent, pids };
}

function pidIn(name: string): number {
  const pid = Number(readFileSync(join(home.path, name), 'utf8'));
  if (pid === 0) throw new Error(`${name} is not written yet`);
  return pid;
}

/** One that has ended but whose new parent has not taken note of it runs no more. */
function isRunning(pid: number): boolean {
  const facts = `/proc/${pid}/stat`;
  return existsSync(facts) && !/^\d+ \(.*\) Z/.test(readFileSync(facts, 'utf8'));
}

it('a service that is stopped leaves nothing of its commands running', async () => {
  const { agent, pids } = await startCommand();
  expect(pids.filter(isRunning)).toEqual(pids);
  await agent.child.kill('SIGTERM');
  await waitFor(() => !pids.some(isRunning));
});

it('what a killed service left running ends when the service starts again', async () => {
  const { agent, pids } = await startCommand();
  await agent.child.kill('SIGKILL');
  expect(pids.filter(isRunning)).toEqual(pids);
  await startProcess();
  await waitFor(() => !pids.some(isRunning));
});

const isolation = await findIsolation();
const missing = isolation.kind === 'none' ? isolation.reason : '';

it.skipIf(missing !== '')(
  `an approved command in the sandbox finds no key of the service${missing && ` (skipped: ${missing})`}`,
  async () => {
    const agent = await startProcess('require');
    const key = join(home.environment.TRUNKLINE_HOME ?? '', 'operator-key');
    writeFileSync(key, 'key-of-the-operator');
    const script = `echo mine > made; cat /proc/$PPID/environ /proc/1/environ /proc/${agent.child.pid}/environ ${key}
      find / -name operator-key 2>/dev/null; env; curl -sS -m 5 ${agent.url}/healthz; echo end`;
    writeFileSync(join(home.path, 'attempt.sh'), script);
    model.enqueue({ toolCalls: [{ name: 'run_command', arguments: { command: 'sh attempt.sh' } }] }, 'Done.');
    const { id: taskId, contextId, status } = await agent.send('Run it.');
    expect(status).toMatchObject({ state: 'input-required' });
    await agent.send('yes', { taskId, contextId });
    const output = JSON.stringify(model.requests.at(-1));
    expect(readFileSync(join(home.path, 'made'), 'utf8')).toBe('mine\n');
    expect(output).toContain('operator-key: No such file or directory');
    expect(output).not.toContain('key-of-the');
    expect(output).not.toContain('TRACE_SECRET_KEY');
    expect(output).not.toContain('graph_compiled');
  },
);
