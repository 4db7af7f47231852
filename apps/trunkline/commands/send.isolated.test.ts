import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  freePort,
  type ModelServer,
  startChild,
  startModelServer,
  temporaryHome,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorHeaders } from '../operator/operator-headers.ts';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const home = temporaryHome();
let model: ModelServer;
let url: string;
const children: ReturnType<typeof startChild>[] = [];

const run = (argv: string[], environment: Record<string, string> = {}, nodeFlags: string[] = []) => {
  const variables = { TRUNKLINE_HOME: home.path, SWITCHBOARD_API_KEY: 'key-of-the-test', ...environment };
  const child = startChild(launcher, { arguments: argv, environment: variables, nodeFlags });
  children.push(child);
  return child;
};

beforeAll(async () => {
  model = await startModelServer({ script: ({ messages }) => `heard: ${messages.at(-1)?.content}` });
  const agents = join(home.path, 'switchboard/workspace/agents');
  mkdirSync(agents, { recursive: true });
  const skills = 'skills: [{ name: chat }, { name: shout, systemPromptOverride: Shout. }]';
  writeFileSync(
    join(agents, 'helm.yaml'),
    `name: helm\nrole: general\nmodel: m\nsystemPrompt: Hi.\ntools: [get_incidents, publish_event]\npublishes: [harbour.*]\n${skills}\n`,
  );
  writeFileSync(
    join(home.path, 'policy.yaml'),
    'rules: [{ agent: helm, tool: [publish_event, write_file], decision: ask, reason: Somebody reads it first. }]\n',
  );
  const board = run(['switchboard', '--port', '0'], { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k' });
  url = (await board.waitForLine(/^http:\/\/127\.0\.0\.1:\d+/, 60_000)).trim();
});
afterAll(async () => {
  for (const child of children.reverse()) await child.kill('SIGTERM');
  await model.stop();
  home.remove();
});

/** What "trunkline approvals" says. */
const say = async (...argv: string[]) => {
  const child = run(['approvals', ...argv], { AGENT_PORT: String(await freePort()) });
  const { code } = await child.exited;
  return { code, output: child.output() };
};
/** What the model was told last. */
const heard = () => JSON.stringify(model.chats().at(-1)?.messages);

describe('trunkline send', () => {
  it('sends one message and prints the answer [S112]', async () => {
    const child = run(['send', '--url', url, 'how', 'are', 'you?']);
    expect(await child.exited, child.output()).toMatchObject({ code: 0 });
    expect(child.output()).toContain('heard: how are you?');
  });

  it('finds the switchboard of its home at another port than its own settings name', async () => {
    const child = run(['send', 'anybody', 'here?'], { SWITCHBOARD_PORT: String(await freePort()) });
    expect(await child.exited, child.output()).toMatchObject({ code: 0 });
    expect(child.output()).toContain('heard: anybody here?');
  });

  it('names the files of an answer', async () => {
    const drawn = { type: 'bar', title: 'Ships', labels: ['May'], series: [{ name: 'seen', values: [3] }] };
    model.enqueue({ toolCalls: [{ name: 'chart', arguments: drawn }] }, 'Three.');
    const child = run(['send', '--url', url, 'how many?']);
    expect(await child.exited, child.output()).toMatchObject({ code: 0 });
    expect(child.output()).toContain('Three.\n[file Ships.svg, image/svg+xml]\n');
  });

  it('asks for a skill', async () => {
    const child = run(['send', '--url', url, '--skill', 'shout', 'hey']);
    await child.exited;
    expect(model.chats().at(-1)?.messages[0]?.content).toContain('Shout.');
  });

  it('takes line by line from the terminal, and answers the questions of agents', async () => {
    const child = run(['send', '--url', url]);
    child.write('first\n');
    await child.waitForLine('heard: first');
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] });
    child.write('paint it\n');
    await child.waitForLine('? Which colour?');
    child.write('blue\n');
    await child.waitForLine(/heard: .*blue/);
    child.write('\n');
    expect(await child.exited, child.output()).toMatchObject({ code: 0 });
  });

  it('leaves questions of agents to "trunkline approvals", which lists and answers them', async () => {
    const asking = run(['send', '--url', url]);
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which hull?' } }] });
    asking.write('build it\n');
    await asking.waitForLine('? Which hull?');
    const listed = await say();
    expect(listed).toMatchObject({ code: 0, output: expect.stringContaining('Which hull?') });
    const [id = ''] = /^[0-9a-f-]{36}(?= {2}asked on the switchboard)/m.exec(listed.output) ?? [];
    expect(await say('answer', id.slice(0, 8), 'steel', 'please')).toMatchObject({ code: 0 });
    await expect.poll(heard).toContain('steel please');
  });

  it('leaves approvals of agents to it too, which approves and denies them', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': 'key-of-the-test' };
    const ask = async (path: string, body?: object) => {
      const response = await fetch(url + path, {
        headers,
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      });
      expect(response.status, path).toBe(200);
      return (await response.json()) as Record<'data' | 'entries', Record<string, string>[]>;
    };
    const names = ['harbour.open', 'harbour.closed'];
    for (const [index, topic] of names.entries()) {
      model.enqueue({ toolCalls: [{ name: 'publish_event', arguments: { topic, payload: {} } }] });
      const parts = [{ kind: 'text', text: `Publish ${topic}` }];
      const message = { role: 'user', messageId: topic, parts, metadata: { skillHint: 'chat' } };
      const params = { message, configuration: { blocking: false } };
      await ask('/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params });
      const waiting = async () => (await ask('/api/hitl/pending')).data.length;
      await expect.poll(waiting).toBe(index + 1);
    }
    const listed = await say();
    expect(listed.output).toContain('Somebody reads it first;');
    const [approved = '', denied = ''] = names.map((name) => {
      const shown = listed.output.split(/\n\n/).find((block) => block.includes(name)) ?? '';
      return /[0-9a-f-]{36}(?= {2}asked on the switchboard)/.exec(shown)?.[0] ?? name;
    });
    expect(await say('approve', approved)).toMatchObject({ code: 0 });
    await expect.poll(heard).toMatch(/Published/);
    expect(await say('deny', denied, 'too', 'loud')).toMatchObject({ code: 0 });
    await expect.poll(heard).toMatch(/publish_event was not run.*too loud/);
    Object.assign(headers, operatorHeaders(url, home.path, {}));
    const { entries } = await ask('/operator/audit?action=approval');
    expect(entries.map(({ subject, decision }) => [subject, decision])).toEqual([
      ['publish_event', 'deny'],
      ['publish_event', 'allow'],
    ]);
  });

  it('approves for a task, and for always as a rule of the policy', async () => {
    const operator = operatorHeaders(url, home.path, {});
    const get = async (path: string) =>
      (await (await fetch(url + path, { headers: operator })).json()) as Record<
        'data' | 'entries',
        Record<string, string>[]
      >;
    const pending = async () => {
      const { data } = await get('/api/hitl/pending');
      return data.find(({ question }) => question?.includes('write_file'))?.requestId;
    };
    const write = (path: string) => ({
      toolCalls: [{ name: 'write_file', arguments: { path, content: 'A line.' } }],
    });
    const policyFile = join(home.path, 'policy.yaml');
    const before = readFileSync(policyFile, 'utf8');
    const sending = run(['send', '--url', url]);
    model.enqueue(write('log/a.md'));
    sending.write('write twice\n');
    const first = await waitFor(pending);
    // The second call of the task is not asked about.
    model.enqueue(write('log/b.md'), 'Both are written.');
    expect(await say('approve', first, 'task')).toMatchObject({ code: 0 });
    await expect.poll(heard).toContain('log/b.md');
    expect([await pending(), readFileSync(policyFile, 'utf8')]).toEqual([undefined, before]);
    // Another task asks again.
    const another = run(['send', '--url', url]);
    model.enqueue(write('log/a.md'));
    another.write('write again\n');
    const second = await waitFor(pending);
    model.enqueue('It is written.');
    expect(await say('approve', second, 'always')).toMatchObject({ code: 0 });
    const allowed = /tool: write_file,?\s+arguments: {\s*path: log\/a\.md\s*},?\s+decision: allow/;
    await expect.poll(() => readFileSync(policyFile, 'utf8')).toMatch(allowed);
    model.enqueue(write('log/a.md'), 'Written without asking.');
    const third = run(['send', '--url', url, 'write', 'once', 'more']);
    expect(await third.exited, third.output()).toMatchObject({ code: 0 });
    expect(third.output()).toContain('Written without asking.');
    expect(heard()).not.toContain('was not run');
    const { entries } = await get('/operator/audit?action=approval');
    const results = entries.filter(({ subject }) => subject === 'write_file').map(({ result }) => result);
    expect(results).toEqual([expect.stringMatching(/^always;/), expect.stringMatching(/^for the task;/)]);
  });

  it('ends with words and 1 when it cannot be done', async () => {
    const failing = run(['send', '--url', url, '--skill', 'juggle', 'x']);
    expect(await failing.exited).toMatchObject({ code: 1 });
    expect(failing.output()).toContain('juggle');
    const port = await freePort();
    const empty = join(home.path, 'empty');
    const nobody = run(['send', 'x'], { SWITCHBOARD_PORT: String(port), TRUNKLINE_HOME: empty });
    expect(await nobody.exited).toMatchObject({ code: 1 });
    expect(nobody.output()).toContain(`http://127.0.0.1:${port} could not be reached`);
    expect(nobody.output()).toContain('set SWITCHBOARD_URL');
    // In the home of the switchboard the command line is the operator, whatever key is set.
    const elsewhere = { TRUNKLINE_HOME: join(home.path, 'another'), SWITCHBOARD_API_KEY: 'wrong' };
    const stranger = run(['send', '--url', url, 'x'], elsewhere);
    expect(await stranger.exited).toMatchObject({ code: 1 });
    expect(stranger.output()).toContain('SWITCHBOARD_API_KEY');
    const wrong = run(['send', '--urll', url, 'x']);
    expect(await wrong.exited).toMatchObject({ code: 2 });
  });

  it('keeps keys from whoever listens at the usual address of a service', async () => {
    const headers: NodeJS.Dict<string | string[]>[] = [];
    const stranger = createServer((request, response) => {
      headers.push(request.headers);
      response.writeHead(401).end('{}');
    }).listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    const { port } = stranger.address() as AddressInfo;
    const ports = { AGENT_PORT: String(port), SWITCHBOARD_PORT: String(port) };
    const elsewhere = { ...ports, TRUNKLINE_HOME: join(home.path, 'empty') };
    const send = run(['send', 'x'], elsewhere);
    const chat = run(['chat'], { ...elsewhere, A2A_AUTH_TOKEN: 'key-of-the-test' });
    chat.write('hello\n');
    const approvals = run(['approvals'], { ...elsewhere, A2A_AUTH_TOKEN: 'key-of-the-test' });
    const ends = await Promise.all([send.exited, chat.exited, approvals.exited]);
    stranger.close();
    expect(ends.map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(approvals.output()).toContain('A2A_AUTH_TOKEN was not sent, as no service of');
    expect(send.output()).toContain('SWITCHBOARD_API_KEY was not sent, as no service of');
    expect(chat.output()).toContain('A2A_AUTH_TOKEN was not sent, as no service of');
    expect(headers.length).toBeGreaterThan(1);
    expect(JSON.stringify(headers)).not.toContain('key-of-the-test');
  });

  it('gets the answer although the switchboard takes its time to accept the message', async () => {
    // Garbage is collected all the time meanwhile: a stream that nobody holds would be cancelled.
    const collecting = `data:text/javascript,
      import { setFlagsFromString } from 'node:v8';
      import { runInNewContext } from 'node:vm';
      setFlagsFromString('--expose-gc');
      const collect = runInNewContext('gc');
      setInterval(() => { collect(); console.error('collected'); }, 10).unref();`;
    const collections = () => child.output().split('collected').length;
    let feed: ServerResponse | undefined;
    const accept = async (request: IncomingMessage, response: ServerResponse) => {
      const { correlationId } = JSON.parse(await text(request));
      const before = collections();
      await waitFor(() => collections() > before + 20);
      const answer = { topic: 'message.outbound.cli', correlationId, payload: { content: 'slowly' } };
      feed?.write(`data: ${JSON.stringify(answer)}\n\n`);
      response.end('{}');
    };
    const slow = createServer((request, response) => {
      if (request.method === 'POST') {
        accept(request, response).catch((error: Error) => response.destroy(error));
        return;
      }
      feed = response.writeHead(200, { 'content-type': 'text/event-stream' });
      feed.write(': here\n\n');
    }).listen(0, '127.0.0.1');
    await once(slow, 'listening');
    const { port } = slow.address() as AddressInfo;
    const child = run(['send', '--url', `http://127.0.0.1:${port}`, 'x'], {}, ['--import', collecting]);
    expect(await child.exited, child.output()).toMatchObject({ code: 0 });
    slow.closeAllConnections();
    slow.close();
    expect(child.output()).toContain('slowly');
  });

  it('says so when the switchboard dies while it works on the answer', async () => {
    const dying = createServer((request, response) => {
      if (request.method !== 'POST')
        return response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n');
      response.once('close', () => dying.closeAllConnections());
      return response.writeHead(200, { connection: 'close' }).end('{}');
    }).listen(0, '127.0.0.1');
    await once(dying, 'listening');
    const { port } = dying.address() as AddressInfo;
    const child = run(['send', '--url', `http://127.0.0.1:${port}`, 'x']);
    expect(await child.exited).toMatchObject({ code: 1 });
    dying.close();
    expect(child.output()).toContain('closed the connection before the answer came; send it again.');
    expect(child.output()).not.toContain('    at ');
  });
});
