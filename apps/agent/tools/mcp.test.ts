// The agent with real servers of the protocol: the examples of the official SDK, each a process of its own.
import { createRequire } from 'node:module';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { openAccounts } from '@trunkline/accounts';
import { readSse } from '@trunkline/http';
import {
  acceptDescriptions,
  startMcpExample,
  startMcpServer,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { post, startAgent, type TestAgentOptions } from '../fixtures/start-agent.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const scriptOf = (name: string) =>
  createRequire(import.meta.url).resolve(`@modelcontextprotocol/sdk/examples/server/${name}.js`);

async function startExample(...given: string[]): Promise<string> {
  const { url, kill } = await startMcpExample(...given);
  cleanups.push(() => kill());
  return url;
}

async function startWith(
  config: string,
  { reply, ...more }: Pick<TestAgentOptions, 'env' | 'home'> & { reply?: string } = {},
) {
  const model = await startModelServer();
  // There before the agent is, which may go on with a task at once.
  if (reply !== undefined) model.enqueue(reply);
  const env = { LLM_GATEWAY_URL: model.url, LLM_MODEL: 'test-model', LLM_API_KEY: 'k', ...more.env };
  const agent = await startAgent({ ...more, env, config: `knowledge: { embeddings: "off" }\n${config}` });
  cleanups.push(
    () => model.stop(),
    () => agent.stop(),
  );
  await acceptDescriptions(agent.url);
  const json = async (path: string, init?: RequestInit) => (await agent.fetch(path, init)).json();
  return { agent, model, json };
}

const withServer = (url: string) => startWith(`mcp: { servers: [{ name: sdk, url: "${url}" }] }`);
const answerOf = (task: { artifacts?: { parts: { text: string }[] }[] }) =>
  task.artifacts?.at(-1)?.parts[0]?.text;

describe('a server', () => {
  it('asks the person of the task, with a form, and the call goes on with the answer', async () => {
    const { agent, model } = await withServer(await startExample());
    const call = { name: 'sdk_collect-user-info', arguments: { infoType: 'contact' } };
    model.enqueue({ toolCalls: [call] });
    const task = await agent.send('Collect my contact information');
    expect(task.status.state).toBe('input-required');
    const [words, form] = task.status.message?.parts ?? [];
    expect(words?.text).toMatch(/^The MCP server sdk asks: Please provide your contact information/);
    expect(form?.data).toMatchObject({
      schema: { title: 'The MCP server sdk asks', steps: [{ schema: { required: ['name', 'email'] } }] },
    });
    model.enqueue('Done.');
    const place = { taskId: task.id, contextId: task.contextId };
    const done = await agent.send('{"name":"Ada","email":"ada@example.com"}', place);
    expect([done.status.state, answerOf(done)]).toEqual(['completed', 'Done.']);
    const told = model
      .chats()
      .at(-1)
      ?.messages.findLast(({ role }) => role === 'tool');
    expect(String(told?.content)).toMatch(/<outside-[\s\S]*"email": "ada@example.com"[\s\S]*<\/outside-/);
  });

  it('tells the person how far a call is, and the model only what came of it', async () => {
    const server = await startMcpServer({ tools: ['steps'] });
    cleanups.push(() => server.stop());
    const { agent, model } = await withServer(server.url);
    model.enqueue({ toolCalls: [{ name: 'sdk_steps', arguments: {} }] }, 'Copied.');
    const message = { role: 'user', parts: [{ kind: 'text', text: 'Copy it' }] };
    const asked = post({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } });
    const { body } = await agent.fetch('/a2a', asked);
    const frames: string[] = [];
    for await (const { data } of readSse(body as AsyncIterable<Uint8Array>)) frames.push(data);
    expect(frames.join('\n')).toContain('"text":"sdk_steps: 25 %, Copying files"');
    expect(JSON.stringify(model.chats().at(-1)?.messages)).not.toContain('Copying');
  });

  it('is held to rules by arguments, as the explanation of the policy says', async () => {
    const called: string[] = [];
    const server = await startMcpServer({ tools: ['echo'], onCall: (words) => called.push(words) });
    cleanups.push(() => server.stop());
    const { agent, model, json } = await withServer(server.url);
    const deny = (condition: string) => `  - { arguments: { ${condition} }, decision: deny }\n`;
    const text = `rules:\n${deny("path: 'secrets/**'")}${deny("host: '*.internal.example'")}`;
    const { text: before } = (await json('/operator/policy')) as { text: string };
    const saved = { ...post({ text: before + text, before }), method: 'PUT' };
    expect((await agent.fetch('/operator/policy', saved)).status).toBe(200);
    const held = ['/srv/secrets/key', 'https://db.internal.example/?all=1'];
    for (const [index, words] of [...held, 'plain words'].entries()) {
      const call = { name: 'sdk_echo', arguments: { words } };
      model.enqueue({ toolCalls: [call] }, 'Well.');
      await agent.send('Say it');
      const tried = await json('/operator/policy/test', post({ tool: call.name, arguments: call.arguments }));
      const rule = index < held.length ? `rules[${index}]` : 'default: no outside text';
      expect(tried).toMatchObject({ decision: index < held.length ? 'deny' : 'allow', rule });
      const told = JSON.stringify(model.chats().at(-1)?.messages.at(-1)?.content);
      if (index < held.length) expect(told).toContain(`policy refuses it: ${rule}`);
    }
    expect(called).toEqual(['plain words']);
  });

  it('shows its pictures to the model, or says what it cannot see', async () => {
    const server = await startMcpServer({ tools: ['media'] });
    cleanups.push(() => server.stop());
    const { agent, model } = await withServer(server.url);
    model.enqueue({ toolCalls: [{ name: 'sdk_media', arguments: {} }] }, 'A dot.');
    const { contextId } = await agent.send('What is in the picture?');
    const told = () => model.chats().at(-1)?.messages ?? [];
    const pictures = () =>
      told().filter((each) => JSON.stringify(each).includes('data:image/png;base64,AA=='));
    expect(pictures()).toMatchObject([{ role: 'user' }]);
    expect(told().at(-2)?.role).toBe('tool');
    model.enqueue('Still a dot.');
    await agent.send('And now?', { contextId });
    expect(pictures()).toHaveLength(1);
    // What the person said comes last, and the picture is no words of theirs.
    expect(told().at(-1)?.content).toContain('And now?');
    const refusal = 'image input is not supported by this model';
    model.enqueue({ fault: 'status', status: 400, message: refusal }, 'I cannot see it.');
    await agent.send('And then?', { contextId });
    expect(pictures()).toEqual([]);
    expect(JSON.stringify(told())).toContain('image that you cannot see');
  });

  it('gives documents, sound and pictures to the model through every way that it has', async () => {
    const server = await startMcpServer({ tools: ['files'] });
    cleanups.push(() => server.stop());
    const { agent, model } = await startWith(
      `mcp: { servers: [{ name: sdk, url: "${server.url}", sampling: { calls_per_hour: 5 } }] }`,
    );
    const told = (index = -1) => JSON.stringify(model.chats().at(index)?.messages);
    const picture = 'data:image/png;base64,AA==';
    const papers = { toolCalls: [{ name: 'sdk_papers', arguments: {} }] };
    model.enqueue(papers, 'At nine.');
    const task = await agent.send('When is high water?');
    expect(told()).toMatch(/tides\.pdf \(application\/pdf, id [\w-]{22}\):\\n\\nHigh water at nine/);
    expect(told()).toContain('"input_audio":{"data":"AAAA","format":"wav"}');
    expect(JSON.stringify(task.artifacts)).toMatch(/tides\.pdf[\s\S]*audio\.wav/);
    const deaf = 'audio input is not supported';
    model.enqueue(papers, { fault: 'status', status: 400, message: deaf }, 'I cannot hear it.');
    await agent.send('What do they say?');
    expect(told()).toContain('audio.wav (audio/wav) is attached, but you cannot hear sound');
    const dot = { name: 'sdk_resources', arguments: { uri: 'note://sea/dot.png' } };
    model.enqueue({ toolCalls: [dot] }, 'A dot.');
    await agent.send('What is in the resource?');
    expect(told()).toContain(picture);
    model.enqueue('Described.');
    await agent.send('/sdk:look');
    expect(told()).toContain(picture);
    expect(told()).toMatch(/Describe it\.[\s\S]*High water at nine/);
    model.enqueue({ toolCalls: [{ name: 'sdk_ask', arguments: {} }] }, 'It is a dot.', 'A dot, it says.');
    await agent.send('Ask');
    expect(told(-2)).toContain('data:image/png;base64,iVBORw0KGgo=');
  });

  it('offers prompts as commands; their text is marked as written by others', async () => {
    const { agent, model, json } = await withServer(await startExample());
    expect(await json('/api/mcp/prompts')).toMatchObject({
      prompts: [{ command: '/sdk:greeting-template', arguments: [{ name: 'name' }] }],
    });
    model.enqueue('Hello Ada!');
    const task = await agent.send('/sdk:greeting-template Ada');
    expect(answerOf(task)).toBe('Hello Ada!');
    const messages = model.chats().at(-1)?.messages ?? [];
    expect(messages.at(-3)).toMatchObject({ role: 'user', content: '/sdk:greeting-template Ada' });
    expect(String(messages.at(-1)?.content)).toMatch(/^<outside-[^>]*mcp_prompt[\s\S]*greet Ada/);
    const wrong = await agent.send('/sdk:greet');
    expect([wrong.status.state, wrong.status.message?.parts[0]?.text]).toEqual([
      'failed',
      'sdk has no prompt greet. There are: /sdk:greeting-template.',
    ]);
    const empty = await agent.send('/sdk:greeting-template');
    expect(empty.status.message?.parts[0]?.text).toBe('/sdk:greeting-template needs name=…');
  });

  it('may use the model where its entry lets it, with nothing of the conversation', async () => {
    const program = `command: "${process.execPath}", args: ["${scriptOf('toolWithSampleServer')}"]`;
    const { agent, model } = await startWith(
      `mcp: { servers: [{ name: sum, ${program}, sampling: { calls_per_hour: 1 } }] }`,
    );
    const call = { name: 'sum_summarize', arguments: { text: 'a long text' } };
    model.enqueue({ toolCalls: [call] });
    model.enqueue('In short.');
    model.enqueue('It says: In short.');
    const task = await agent.send('Summarize it, my secret is 4711');
    expect(answerOf(task)).toBe('It says: In short.');
    const sampled = model.chats()[1];
    expect(JSON.stringify(sampled?.messages)).toContain('a long text');
    expect(JSON.stringify(sampled)).not.toContain('4711');
    expect(sampled?.tools ?? []).toEqual([]);
    model.enqueue({ toolCalls: [call] });
    model.enqueue('Not again.');
    await agent.send('Once more');
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain(
      'has used its 1 model calls of this hour',
    );
  });

  it('is signed in to in a browser; the tokens are a secret', async () => {
    const { agent, json } = await withServer(await startExample('--oauth', '--oauth-strict'));
    expect(await json('/api/mcp/servers')).toMatchObject({ servers: [{ name: 'sdk', state: 'sign-in' }] });
    const begun = await agent.fetch('/api/mcp/servers/sdk/sign-in', post({}));
    const cookie = begun.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly/i);
    const { url } = (await begun.json()) as { url: string };
    const page = await fetch(url, { redirect: 'manual' });
    const back = new URL(page.headers.get('location') ?? '');
    expect(`${back.origin}${back.pathname}`).toBe(`${agent.url}/oauth/mcp/callback`);
    const path = `${back.pathname}${back.search}`;
    expect((await agent.fetch(path, { redirect: 'manual' })).status).toBe(403);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    const done = await agent.fetch(path, { headers, redirect: 'manual' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/app#/connections']);
    expect(await json('/api/mcp/servers')).toMatchObject({ servers: [{ name: 'sdk', state: 'connected' }] });
    expect((await agent.fetch(path, { headers, redirect: 'manual' })).status).toBe(403);
    const out = await agent.fetch('/api/mcp/servers/sdk/sign-in', { method: 'DELETE' });
    expect(out.status).toBe(200);
    expect(await json('/api/mcp/servers')).toMatchObject({ servers: [{ name: 'sdk', state: 'sign-in' }] });
  });

  it('is tried, and what it offers is counted', async () => {
    const url = await startExample();
    const { json } = await startWith('');
    const { server } = (await json('/api/mcp/servers/test', post({ name: 'sdk', url }))) as {
      server: object;
    };
    expect(server).toMatchObject({ state: 'connected', prompts: 1, resources: expect.any(Number) });
  });
});

describe('a client', () => {
  async function connect(url: string, answer?: object, key?: string) {
    const capabilities = answer === undefined ? {} : { elicitation: {} };
    const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities });
    const asked: unknown[] = [];
    if (answer !== undefined)
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        asked.push(params);
        return { action: 'accept', content: answer as Record<string, string> };
      });
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const options = { requestInit: { headers } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), options) as Transport);
    cleanups.push(() => client.close());
    return { client, asked };
  }
  const textOf = (result: Awaited<ReturnType<Client['callTool']>>) =>
    (result.content as { text: string }[])[0]?.text ?? '';

  it('gives the agent a task, hears of its progress, and answers its question', async () => {
    const { agent, model } = await startWith('');
    const { client, asked } = await connect(agent.url, { answer: 'the blue one' });
    model.enqueue({ toolCalls: [{ name: 'calculator', arguments: { expression: '2**5' } }] });
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which one?' } }] });
    model.enqueue('The blue one, 32 times.');
    const steps: (string | undefined)[] = [];
    const call = { name: 'ask_agent', arguments: { message: 'Choose' } };
    const result = await client.callTool(call, undefined, {
      onprogress: ({ message }) => steps.push(message),
    });
    expect(textOf(result)).toMatch(/^The blue one, 32 times\.\n\n\(conversation: mcp-/);
    expect(steps).toContain('Using calculator');
    expect(asked).toMatchObject([{ message: 'Which one?', requestedSchema: { required: ['answer'] } }]);
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('the blue one');
  });

  it('gets the files that the agent makes', async () => {
    const { agent, model } = await startWith('');
    const { client } = await connect(agent.url);
    const series = [{ name: 'sold', values: [1, 2] }];
    const chart = { type: 'bar', title: 'Plums sold', labels: ['May', 'June'], series };
    const note = { name: 'plums.md', content: '# Plums' };
    model.enqueue({
      toolCalls: [
        { name: 'chart', arguments: chart },
        { name: 'write_artifact', arguments: note },
      ],
    });
    model.enqueue('See the chart.');
    const result = await client.callTool({ name: 'ask_agent', arguments: { message: 'Draw it' } });
    expect(textOf(result)).toMatch(/^See the chart\./);
    const files = (result.content as { type: string; resource?: Record<string, string> }[]).slice(1);
    const named = (name: string) =>
      files.find(({ resource }) => resource?.uri === `artifact:///${name}`)?.resource;
    const drawn = named('Plums%20sold.svg');
    expect(drawn?.mimeType).toBe('image/svg+xml');
    expect(Buffer.from(drawn?.blob ?? '', 'base64').toString()).toMatch(/^<svg[\s\S]*Plums sold/);
    expect(named('plums.md')).toMatchObject({ mimeType: 'text/markdown', text: '# Plums' });
    // A tool by itself hands its file out just so.
    const alone = await client.callTool({ name: 'write_artifact', arguments: note });
    expect(alone).toMatchObject({
      content: [
        { type: 'text', text: 'The person has the file plums.md.' },
        { type: 'resource', resource: { uri: 'artifact:///plums.md', text: '# Plums' } },
      ],
      isError: false,
    });
    const { content } = await client.callTool({ name: 'chart', arguments: chart });
    expect(content).toMatchObject([{}, { resource: { mimeType: 'image/svg+xml', blob: drawn?.blob } }]);
  });

  it('gets pictures and sound that the agent was given by a server, once', async () => {
    const server = await startMcpServer({ tools: ['media', 'files'] });
    cleanups.push(() => server.stop());
    const { agent, model } = await withServer(server.url);
    const { client } = await connect(agent.url);
    const calls = ['sdk_media', 'sdk_papers'].map((name) => ({ name, arguments: {} }));
    model.enqueue({ toolCalls: calls });
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which one?' } }] });
    const first = await client.callTool({ name: 'ask_agent', arguments: { message: 'Fetch them' } });
    const kinds = (result: typeof first) => (result.content as { type: string }[]).map(({ type }) => type);
    expect(kinds(first).sort()).toEqual(['audio', 'image', 'resource', 'text']);
    expect(first.content).toContainEqual({ type: 'image', data: 'AA==', mimeType: 'image/png' });
    expect(first.content).toContainEqual({ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' });
    const { task, conversation } = first._meta as { task: string; conversation: string };
    model.enqueue({ toolCalls: [{ name: 'write_artifact', arguments: { name: 'end.md', content: 'End' } }] });
    model.enqueue('Both.');
    const answer = { message: 'both', task, conversation };
    const second = await client.callTool({ name: 'ask_agent', arguments: answer });
    expect(second.content).toMatchObject([
      { type: 'text', text: expect.stringMatching(/^Both\./) },
      { type: 'resource', resource: { uri: 'artifact:///end.md' } },
    ]);
    expect(await client.callTool({ name: 'sdk_media', arguments: {} })).toMatchObject({
      content: [{ type: 'text' }, { type: 'image', data: 'AA==', mimeType: 'image/png' }],
    });
  });

  it('that shows no forms gets the question, and answers it with a second call in the same conversation', async () => {
    const { agent, model } = await startWith('');
    const { client } = await connect(agent.url);
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which one?' } }] });
    const first = await client.callTool({ name: 'ask_agent', arguments: { message: 'Choose' } });
    expect(textOf(first)).toMatch(/^The agent asks: Which one\?/);
    const { task, conversation } = first._meta as { task: string; conversation: string };
    model.enqueue('That one.');
    const input = { message: 'this', task, conversation };
    const second = await client.callTool({ name: 'ask_agent', arguments: input });
    expect(textOf(second)).toMatch(/^That one\./);
  });

  it('is a model: its own yes approves nothing, the answer to a form does', async () => {
    const { agent, model, json } = await startWith('filesystem: { run_command: true }');
    const { client } = await connect(agent.url);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'ask_agent')?.annotations).toEqual({ openWorldHint: true });
    model.enqueue({ toolCalls: [{ name: 'run_command', arguments: { command: 'echo ran' } }] });
    const first = await client.callTool({ name: 'ask_agent', arguments: { message: 'Run it' } });
    const { task, conversation } = first._meta as { task: string; conversation: string };
    const yes = { name: 'ask_agent', arguments: { message: 'yes', task, conversation } };
    expect(textOf(await client.callTool(yes))).toMatch(
      /^The agent waits for an approval: This still waits[\s\S]*answers by ask_agent do not count/,
    );
    expect(await json('/api/approvals')).toMatchObject({ approvals: [{ task_id: task }] });
    const { client: shows, asked } = await connect(agent.url, { answer: 'yes' });
    model.enqueue('It ran.');
    expect(textOf(await shows.callTool(yes))).toMatch(/^It ran\./);
    expect(asked).toHaveLength(1);
  });

  it('of an account approves nothing, by no form either: any program may hold its token', async () => {
    const { agent, model, json } = await startWith('filesystem: { run_command: true }');
    const accounts = openAccounts({ home: agent.home, logger: console });
    cleanups.push(() => accounts.close());
    const { key } = accounts.createKey(accounts.create({ name: 'Ava', role: 'operator' }).id, 'test');
    const { client, asked } = await connect(agent.url, { answer: 'yes' }, key);
    model.enqueue({ toolCalls: [{ name: 'run_command', arguments: { command: 'echo ran' } }] });
    const result = await client.callTool({ name: 'ask_agent', arguments: { message: 'Run it' } });
    expect(textOf(result)).toMatch(/^The agent waits for an approval/);
    expect(asked).toEqual([]);
    const { task } = result._meta as { task: string };
    expect(await json('/api/approvals')).toMatchObject({ approvals: [{ task_id: task }] });
  });

  it('that fails to show a form gets the question with its task', async () => {
    const { agent, model } = await startWith('');
    const { client } = await connect(agent.url, {});
    client.setRequestHandler(ElicitRequestSchema, () => {
      throw new Error('no window');
    });
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which one?' } }] });
    const result = await client.callTool({ name: 'ask_agent', arguments: { message: 'Choose' } });
    expect(textOf(result)).toMatch(/^The agent asks: Which one\?[\s\S]*task [\w-]+\.$/);
  });

  it('runs a turn as a task, and comes back for the result', async () => {
    const { agent, model } = await startWith('');
    const { client } = await connect(agent.url);
    await client.listTools();
    model.enqueue('At last.');
    const call = { name: 'ask_agent', arguments: { message: 'Take your time' } };
    const seen: string[] = [];
    for await (const message of client.experimental.tasks.callToolStream(call, undefined, {
      task: { ttl: 60_000 },
    })) {
      seen.push(message.type);
      if (message.type === 'result') expect(textOf(message.result)).toMatch(/^At last\./);
      if (message.type === 'error') throw message.error;
    }
    expect([seen[0], seen.at(-1)]).toEqual(['taskCreated', 'result']);
  });

  it('finds its task again after a restart of the agent, which goes on with it', async () => {
    const { path: home, remove } = temporaryDirectory();
    cleanups.push(remove);
    const options = { home, env: { CORE_INTERRUPTED_TASKS: 'resume' } };
    const first = await startWith('', options);
    const { client } = await connect(first.agent.url);
    first.model.enqueue({ fault: 'stall', text: 'Thinking' });
    const params = { name: 'ask_agent', arguments: { message: 'Take your time' }, task: { ttl: 60_000 } };
    const { task } = await client.request({ method: 'tools/call', params }, CreateTaskResultSchema);
    await waitFor(() => first.model.chats().length === 1, { timeoutMs: 60_000 });
    await client.close();
    await first.agent.stop();
    const { agent } = await startWith('', { ...options, reply: 'At last.' });
    const { client: again } = await connect(agent.url);
    const result = await again.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
    expect(textOf(result)).toMatch(/^At last\./);
    const { task: id } = result._meta as { task: string };
    // The task of the agent is the same one, for callers over A2A too.
    expect((await agent.rpc('tasks/get', { id })).result).toMatchObject({ status: { state: 'completed' } });
  });

  it('leaves lines in the audit log for what it does and for what it is refused', async () => {
    const { agent, json } = await startWith('');
    const text = "rules: [{ tool: write_file, arguments: { path: 'keys/**' }, decision: deny }]";
    await agent.fetch('/operator/policy', { ...post({ text, before: null }), method: 'PUT' });
    const { client } = await connect(agent.url);
    for (const path of ['a.md', 'keys/a.md'])
      await client.callTool({ name: 'write_file', arguments: { path, content: 'x' } });
    await client.callTool({ name: 'read_file', arguments: { path: 'a.md' } });
    const { entries } = (await json('/operator/audit?action=tool.call')) as { entries: object[] };
    expect(entries).toMatchObject([
      { subject: 'write_file', decision: 'deny', rule: 'rules[0]', result: 'refused', task: 'mcp' },
      { subject: 'write_file', decision: 'allow', result: 'done', task: 'mcp' },
    ]);
  });

  it('reads notes and memories', async () => {
    const { agent } = await startWith('');
    await agent.fetch(
      '/api/knowledge/chunks',
      post({ content: 'plums are blue', domain: 'fruit', heading: 'plums' }),
    );
    const { client } = await connect(agent.url);
    const { resources } = await client.listResources();
    expect(resources.map(({ name }) => name)).toEqual(['Notes: Notes', 'Memory: plums']);
    const read = await client.readResource({ uri: resources[1]?.uri ?? '' });
    expect(read.contents).toMatchObject([{ text: 'plums are blue', mimeType: 'text/markdown' }]);
    await expect(client.readResource({ uri: 'memory://999' })).rejects.toThrow(
      'There is no resource memory://999.',
    );
  });
});
