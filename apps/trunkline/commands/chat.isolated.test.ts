import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Child, freePort, startChild, startModelServer, temporaryHome } from '@trunkline/testing';
import { afterEach, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('trunkline chat', () => {
  it('streams answers, shows tools, and takes the answer to a question inline', async () => {
    const { url } = await startAgent();
    const chat = run(['chat', '--url', url]);
    chat.write('what is 12*7+3\n');
    await chat.waitForLine('✓ calculator 12*7+3 = 87');
    chat.write('ask me which colour I like\n');
    await chat.waitForLine(/^\? .*colour/);
    chat.write('blue\n');
    await chat.waitForLine(/You answered: "blue"/);
    chat.write('\n');
    expect(await chat.exited).toMatchObject({ code: 0 });
    const { sessions } = await (await fetch(`${url}/api/chat/sessions`)).json();
    expect(sessions).toMatchObject([{ title: 'what is 12*7+3', origin: 'terminal', state: 'completed' }]);
  });

  it('continues a chat with the model that was chosen for it, and chooses another', async () => {
    const model = await startModelServer({
      models: ['small', 'large'],
      script: () => '\u001b]0;owned\u0007Here.',
    });
    cleanups.push(() => model.stop());
    const { url } = await startAgent({ LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'any', LLM_MODEL: 'small' });
    const report = { name: 'write_artifact', arguments: { name: 'report.md', content: '# Report' } };
    const citations = [{ url: 'https://a.example/red', title: 'Red' }];
    model.enqueue({ toolCalls: [report] }, { text: '\u001b]0;owned\u0007Here.', citations });
    const first = run(['chat', '--url', url, '--model', 'large']);
    first.write('Hello\n\n');
    await first.exited;
    expect(model.chats().at(-1)?.model).toBe('large');
    // Nothing that the terminal would act upon.
    expect(first.output()).toContain('\ufffd]0;owned\ufffdHere.');
    expect(first.output()).toContain('\n\nSources:\n[1] Red: https://a.example/red\n');
    const files = [...first.output().matchAll(/^\[file report\.md, text\/markdown: (\S+)\]$/gm)];
    expect(files).toHaveLength(1);
    expect(await (await fetch(files[0]?.[1] ?? '')).text()).toBe('# Report');
    const { sessions } = (await (await fetch(`${url}/api/chat/sessions`)).json()) as {
      sessions: { session_id: string }[];
    };
    const chat = run(['chat', '--url', url, '--chat', sessions[0]?.session_id ?? '']);
    await chat.waitForLine('Continuing "Hello" with large.');
    chat.write('And now?\n/model\n');
    await chat.waitForLine('This chat uses large. Choose with "/model NAME": standard, large.');
    chat.write('/model huge\n');
    await chat.waitForLine(/refused: The model huge is not offered to you/);
    chat.write('/model standard\n');
    await chat.waitForLine('This chat uses small (standard).');
    chat.write('And then?\n\n');
    expect(await chat.exited).toMatchObject({ code: 0 });
    const asked = model.chats().filter(({ stream }) => stream);
    expect(asked.slice(-2).map((body) => body.model)).toEqual(['large', 'small']);
    expect(JSON.stringify(asked.at(-1)?.messages)).toContain('Hello');
    const lost = run(['chat', '--url', url, '--chat', 'nowhere']);
    expect(await lost.exited).toMatchObject({ code: 1 });
    expect(lost.output()).toContain('There is no chat nowhere.');
  });

  it('finds any agent by the address of its card or endpoint, and no other of its host', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      const isCard = request.url === '/agents/one/card.json';
      if (request.method === 'POST') asked.push(request.url ?? '');
      if (!isCard && request.url !== '/agents/one') return void response.writeHead(404).end();
      const parts = [{ kind: 'text', text: 'It is I.' }];
      const message = { kind: 'message', messageId: 'm', role: 'agent', parts };
      const card = { name: 'One', url: '/agents/one', protocolVersion: '0.3.0', capabilities: {} };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(isCard ? card : { jsonrpc: '2.0', id: 1, result: message }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    for (const path of ['/agents/one/card.json', '/agents/one']) {
      const chat = run(['chat', '--url', `http://127.0.0.1:${port}${path}`]);
      chat.write('who is it?\n\n');
      await chat.waitForLine('It is I.');
      await chat.exited;
    }
    expect(new Set(asked)).toEqual(new Set(['/agents/one']));
  });

  it('says what to do when no agent answers', async () => {
    const port = await freePort();
    const chat = run(['chat'], { AGENT_PORT: String(port) });
    chat.write('hello\n');
    expect(await chat.exited).toMatchObject({ code: 1 });
    expect(chat.output()).toContain(`Talking to the agent at http://127.0.0.1:${port}.`);
    expect(chat.output()).toContain('could not be reached');
    expect(chat.output()).toContain('AGENT_URL');
  });

  it('asks for the token when the agent wants one, and works with it', async () => {
    const { url, home } = await startAgent({ A2A_AUTH_TOKEN: 'family-secret' });
    const stranger = run(['chat', '--url', url]);
    stranger.write('hello\n');
    expect(await stranger.exited).toMatchObject({ code: 1 });
    expect(stranger.output()).toContain('Set A2A_AUTH_TOKEN');
    // In the home of the agent it needs no address, whatever port the settings name.
    const settings = { TRUNKLINE_HOME: home, AGENT_PORT: String(await freePort()) };
    const friend = run(['chat'], { ...settings, A2A_AUTH_TOKEN: 'family-secret' });
    friend.write('what is 2+2\n');
    await friend.waitForLine('2+2 = 4');
  });
});

async function startAgent(environment: Record<string, string> = {}): Promise<{ url: string; home: string }> {
  const home = temporaryHome();
  cleanups.push(home.remove);
  const agent = run(['agent', '--port', '0', '--ui', 'console'], { ...home.environment, ...environment });
  const line = await agent.waitForLine(/^http:\/\/127\.0\.0\.1:\d+/, 60_000);
  return { url: line.trim(), home: home.environment.TRUNKLINE_HOME ?? '' };
}

function run(args: string[], environment: Record<string, string> = {}): Child {
  const home = temporaryHome();
  const child = startChild(launcher, {
    arguments: args,
    directory: home.path,
    environment: { ...home.environment, LLM_GATEWAY_URL: '', A2A_AUTH_TOKEN: '', ...environment },
  });
  cleanups.push(home.remove, () => child.kill());
  return child;
}
