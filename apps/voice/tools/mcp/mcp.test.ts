import { fileURLToPath } from 'node:url';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { startPeer } from '../../peer.suite.ts';
import { startVoice } from '../../voice.suite.ts';
import { handleMcp } from './fixtures/protocol.ts';

const context = { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c' };

/** The fixture's server over HTTP. */
async function startHttpServer(): Promise<string> {
  const { url } = await startPeer(({ method, body }) =>
    method === 'POST'
      ? (handleMcp(body as unknown as Parameters<typeof handleMcp>[0]) ?? { status: 202 })
      : { status: 405 },
  );
  return `${url}/mcp`;
}

async function toolsWith(servers: string) {
  const voice = await startVoice({ files: { 'mcp.yaml': servers, 'skills/default.yaml': 'name: D' } });
  await voice.voice.mcp.settled;
  const user = voice.voice.users.find('default');
  const tools = user ? voice.voice.persona(user).tools : [];
  const call = (name: string, input: unknown) =>
    tools.find((tool) => tool.name === name)?.execute?.(input, context);
  return { voice, tools, call };
}

describe('MCP servers', () => {
  it('bring their tools, over HTTP and as a process, under their names', async () => {
    const url = await startHttpServer();
    const script = fileURLToPath(new URL('./fixtures/server.ts', import.meta.url));
    const { voice, tools, call } = await toolsWith(
      `servers:\n  - {name: net, transport: http, url: "${url}"}\n  - {name: own, transport: stdio, command: "${process.execPath}", args: ["${script}"]}`,
    );
    const names = tools.map(({ name }) => name).filter((name) => /^(net|own)_/.test(name));
    expect(names.sort()).toEqual(['net_echo', 'net_fail', 'own_echo', 'own_fail']);
    expect(await call('net_echo', { words: 'hi' })).toBe('echo: hi');
    expect(await call('own_echo', { words: 'ho' })).toBe('echo: ho');
    expect(await call('net_fail', {})).toBe('Error: it broke');
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({
      net_echo: 1,
      own_echo: 1,
      net_fail: 1,
    });
    const readOnly = tools.filter((tool) => !tool.pause && tool.readOnly).map(({ name }) => name);
    expect(readOnly).toEqual(expect.arrayContaining(['net_echo', 'own_echo', 'web_search']));
    expect(readOnly).not.toContain('net_fail');
    expect(tools.find(({ name }) => name === 'net_echo')?.input.safeParse({}).success).toBe(false);
  });

  it('that cannot be reached do not keep the service from starting', async () => {
    const { voice, tools } = await toolsWith(
      'servers: [{name: gone, transport: http, url: "http://127.0.0.1:9/mcp"}]',
    );
    expect(tools.some(({ name }) => name.startsWith('gone_'))).toBe(false);
    expect(voice.lines.some(({ message }) => message === 'an MCP server fails')).toBe(true);
  });

  it('that never answer are not waited for when the service stops', async () => {
    const { url, requests } = await startPeer(() => 'stall');
    const files = { 'mcp.yaml': `servers: [{name: mute, transport: http, url: "${url}"}]` };
    const voice = await startVoice({ files });
    await waitFor(() => requests.length > 0);
    await voice.stop();
    // Had it been waited for, its time limit would have been told.
    expect(voice.lines.map(({ message }) => message)).not.toContain('an MCP server fails');
  });

  it('in a broken list are logged', async () => {
    const { voice } = await toolsWith('servers: [{name: x}]');
    expect(voice.lines.find(({ message }) => message.includes('MCP servers'))?.fields.reason).toContain(
      'mcp.yaml',
    );
  });
});
