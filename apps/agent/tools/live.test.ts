import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSse } from '@trunkline/http';
import {
  acceptDescriptions,
  freePort,
  mcpProgram,
  startMcpServer,
  startModelServer,
  waitFor,
} from '@trunkline/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent, type TestAgentOptions } from '../fixtures/start-agent.ts';

const acpAgent = fileURLToPath(new URL('./acp/fixtures/agent.ts', import.meta.url));
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Programs take their time to start on a busy machine. */

/** A whole agent whose model follows a script. */
const commandsOn = 'filesystem: { run_command: true }';

async function scripted(
  script: Parameters<typeof startModelServer>[0],
  options: TestAgentOptions = {},
): Promise<TestAgent> {
  const model = await startModelServer(script);
  const env = { LLM_GATEWAY_URL: model.url, LLM_MODEL: 'test-model', LLM_API_KEY: 'k', ...options.env };
  const agent = await startAgent({ ...options, env });
  cleanups.push(
    () => model.stop(),
    () => agent.stop(),
  );
  return agent;
}

const textOf = (task: { artifacts?: { parts: { text: string }[] }[] }) =>
  task.artifacts?.at(-1)?.parts[0]?.text ?? '';

/** Calls a tool, then says what it gave. */
const calling = (name: string, input: object) => ({
  script: (request: { messages: { role: string; content?: unknown }[] }) => {
    const last = request.messages.at(-1);
    return last?.role === 'tool'
      ? `got ${String(last.content)}`
      : { toolCalls: [{ name, arguments: input }] };
  },
});

describe('a whole agent', () => {
  it('fires a scheduled prompt as a turn of its own and shows it in its feed [A057]', async () => {
    const agent = await startAgent();
    cleanups.push(() => agent.stop());
    const stop = new AbortController();
    cleanups.push(async () => stop.abort());
    const feed = await agent.fetch('/api/events', { signal: stop.signal });
    const when = new Date(Date.now() + 1000).toISOString();
    await agent.fetch('/api/scheduler/jobs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'what is 6 * 7?', when, job_id: 'sum' }),
    });
    const heard: { role: string; text: string; trigger: string }[] = [];
    for await (const { event, data } of readSse(feed.body!)) {
      if (event === 'activity.message') heard.push(JSON.parse(data));
      if (heard.length === 2) break;
    }
    expect(heard).toMatchObject([
      { role: 'user', text: 'what is 6 * 7?', trigger: 'sum' },
      { role: 'assistant', text: expect.stringContaining('42'), trigger: 'sum' },
    ]);
  });

  it('uses the tools of an MCP server', async () => {
    const config = JSON.stringify({
      mcp: { servers: [{ name: 'box', command: process.execPath, args: [mcpProgram] }] },
    });
    const agent = await scripted(calling('box_add', { a: 20, b: 22 }), { config });
    await acceptDescriptions(agent.url);
    // The model repeats the marks around the result; people do not see them.
    expect(textOf(await agent.send('add'))).toBe('got \n42\n');
  });

  it('takes the tools of an MCP server that comes up later', async () => {
    const port = await freePort();
    const servers = [{ name: 'late', url: `http://127.0.0.1:${port}/mcp` }];
    const agent = await scripted(calling('late_calculator', { expression: '6 * 7' }), {
      config: JSON.stringify({ mcp: { servers } }),
    });
    const names = async () => JSON.stringify(await (await agent.fetch('/api/tools')).json());
    expect(await names()).not.toContain('late_calculator');
    const peer = await startAgent({ env: { AGENT_PORT: String(port) }, config: 'mcp: { serve: true }' });
    cleanups.push(() => peer.stop());
    await waitFor(async () => (await names()).includes('late_calculator'));
    await acceptDescriptions(agent.url);
    expect(textOf(await agent.send('multiply'))).toContain('42');
  });

  it('takes the tools that an MCP server adds while it runs; what it says counts as outside text until accepted', async () => {
    const server = await startMcpServer({ transport: 'sse', tools: ['grow'] });
    cleanups.push(() => server.stop());
    const servers = [{ name: 'box', transport: 'sse', url: server.url }];
    const agent = await scripted(calling('box_grow', {}), { config: JSON.stringify({ mcp: { servers } }) });
    const names = async () => JSON.stringify(await (await agent.fetch('/api/tools')).json());
    expect(await names()).not.toContain('box_echo');
    const states = async () => {
      const { descriptions } = await (await agent.fetch('/operator/policy')).json();
      return descriptions.map(({ source, state }: Record<string, string>) => `${source} ${state}`);
    };
    expect(await states()).toEqual(['box new']);
    const asked = await agent.send('grow');
    expect(asked.status.state).toBe('input-required');
    expect(asked.status.message?.parts[0]?.text).toMatch(/\(mcp-description box\); the operator can accept/);
    await acceptDescriptions(agent.url);
    expect(await states()).toEqual(['box accepted']);
    expect((await agent.send('grow')).status.state).toBe('completed');
    await waitFor(async () => (await names()).includes('box_echo'));
    // Other bytes than those that were accepted.
    expect(await states()).toEqual(['box changed']);
    expect((await agent.send('grow')).status.state).toBe('input-required');
  });

  it('shows what a dead MCP server wrote to stderr to the operator alone', async () => {
    const servers = [{ name: 'box', command: process.execPath, args: [mcpProgram, 'broken'] }];
    const config = JSON.stringify({ mcp: { servers } });
    const seen = async (open: string) => {
      const agent = await startAgent({ config, env: { TRUNKLINE_OPEN: open } });
      cleanups.push(() => agent.stop());
      return await (await agent.fetch('/api/mcp/servers')).text();
    };
    expect(await seen('1')).toContain('fatal: bad token');
    const shown = await seen('0');
    expect(shown).toContain('"state":"failed"');
    expect(shown).not.toMatch(/fatal|reason/);
  });

  it('hands a task to a coding agent [A094]', async () => {
    const config = JSON.stringify({
      coding_agents: [{ name: 'coder', command: process.execPath, args: [acpAgent] }],
    });
    const agent = await scripted(calling('code_with', { agent: 'coder', task: 'tidy up' }), { config });
    expect(textOf(await agent.send('tidy'))).toContain('did tidy up');
  });

  it('tells the model that nothing ran when a command is approved after commands were switched off', async () => {
    const agent = await scripted(calling('run_command', { command: 'touch made' }), { config: commandsOn });
    const parked = await agent.send('make it');
    const changes = [{ op: 'set', path: ['filesystem', 'run_command'], value: false }];
    const headers = { 'content-type': 'application/json' };
    await agent.fetch('/api/config', { method: 'PATCH', headers, body: JSON.stringify({ changes }) });
    const names = async () => JSON.stringify(await (await agent.fetch('/api/tools')).json());
    await waitFor(async () => !(await names()).includes('run_command'));
    const done = await agent.send('yes', { taskId: parked.id, contextId: parked.contextId });
    expect(textOf(done)).toBe(
      'got Error: run_command is no longer offered and was not run. The person had answered: yes',
    );
  });

  it('asks before it runs a command, and writes every call to the audit log [A051]', async () => {
    const agent = await scripted(calling('run_command', { command: 'cat note.txt' }), { config: commandsOn });
    writeFileSync(join(agent.home, 'agent', 'workspace', 'note.txt'), 'milk');
    const parked = await agent.send('read my note');
    expect(parked.status.state).toBe('input-required');
    expect(parked.status.message?.parts[0]?.text).toContain('cat note.txt');
    const done = await agent.send('yes', { taskId: parked.id, contextId: parked.contextId });
    expect(textOf(done)).toBe('got milk');
    expect(readFileSync(join(agent.home, 'agent', 'audit', 'audit.jsonl'), 'utf8')).toContain(
      '"tool":"run_command"',
    );
  });
});
