import { isReadOnly } from '@trunkline/llm';
import { mcpProgram, startMcpServer, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startPeer } from '../peer.suite.ts';
import { startVoice } from '../voice.suite.ts';

const context = { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c' };

async function toolsWith(servers: string) {
  const voice = await startVoice({ files: { 'mcp.yaml': servers, 'skills/default.yaml': 'name: D' } });
  await voice.voice.mcp.settled;
  const user = voice.voice.users.find('default');
  const tools = user ? voice.voice.persona(user).tools : [];
  const call = (name: string, input: unknown) =>
    tools.find((tool) => tool.name === name)?.execute?.(input, context);
  return { voice, tools, call };
}

// Programs take their time to start on a busy machine.
describe('MCP servers', () => {
  it('bring their tools, over HTTP and as a process, under their names', async () => {
    const server = await startMcpServer({ tools: ['echo', 'fail'] });
    onTestFinished(() => server.stop());
    const { voice, tools, call } = await toolsWith(
      `servers:\n  - {name: net, trusted: true, transport: http, url: "${server.url}"}\n  - {name: own, trusted: true, transport: stdio, command: "${process.execPath}", args: ["${mcpProgram}", echo, fail]}`,
    );
    const names = tools.map(({ name }) => name).filter((name) => /^(net|own)_/.test(name));
    expect(names.sort()).toEqual(['net_echo', 'net_fail', 'own_echo', 'own_fail']);
    expect(await call('net_echo', { words: 'hi' })).toBe('hi');
    expect(await call('own_echo', { words: 'ho' })).toBe('ho');
    expect(await call('net_fail', {})).toBe('Error: it broke');
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({
      net_echo: 1,
      own_echo: 1,
      net_fail: 1,
    });
    const readOnly = tools.filter((tool) => !tool.pause && isReadOnly(tool)).map(({ name }) => name);
    expect(readOnly).toEqual(expect.arrayContaining(['net_echo', 'own_echo', 'web_search']));
    expect(readOnly).not.toContain('net_fail');
    expect(tools.find(({ name }) => name === 'net_echo')?.input.safeParse({}).success).toBe(false);
  });

  it('use the model within the limits of their entry, and are signed in to at the agent', async () => {
    const server = await startMcpServer({ say: () => 'Hello' });
    const locked = await startMcpServer({ key: 'k' });
    onTestFinished(async () => void (await Promise.all([server.stop(), locked.stop()])));
    const entry = (name: string, url: string, more = '') =>
      `  - {name: ${name}, trusted: true, transport: http, url: "${url}"${more}}\n`;
    const { voice, call } = await toolsWith(
      `servers:\n${entry('net', server.url, ', sampling: {calls_per_hour: 1}')}${entry('shut', server.url)}${entry('locked', locked.url)}`,
    );
    expect(await call('net_sample', {})).toMatch(/^\{"type":"text","text":".+"\}$/);
    expect(await call('net_sample', {})).toContain('has used its 1 model calls of this hour');
    expect(await call('shut_sample', {})).toContain('Method not found');
    const reasons = voice.lines.map(({ fields }) => fields.reason);
    expect(reasons).toContainEqual(expect.stringContaining("sign in on the agent's page Connections"));
  });

  it('that cannot be reached do not keep the service from starting', async () => {
    const { voice, tools } = await toolsWith(
      'servers: [{name: gone, transport: http, url: "http://127.0.0.1:9/mcp"}]',
    );
    expect(tools.some(({ name }) => name.startsWith('gone_'))).toBe(false);
    const line = voice.lines.find(({ message }) => message === 'failed to reach MCP server; retrying');
    expect(line?.fields.server).toBe('gone');
  });

  it('that never answer are not waited for when the service stops', async () => {
    const { url, requests } = await startPeer(() => 'stall');
    const files = { 'mcp.yaml': `servers: [{name: mute, transport: http, url: "${url}"}]` };
    const voice = await startVoice({ files });
    await waitFor(() => requests.length > 0);
    await voice.stop();
    // Had it been waited for, its time limit would have been logged.
    expect(voice.lines.map(({ message }) => message)).not.toContain('failed to reach MCP server; retrying');
  });

  it('in a broken list are logged', async () => {
    const { voice } = await toolsWith('servers: [{name: x}]');
    expect(voice.lines.find(({ message }) => message.includes('MCP servers'))?.fields.reason).toContain(
      'mcp.yaml',
    );
  });
});
