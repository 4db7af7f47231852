import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text as streamText } from 'node:stream/consumers';
import { readSse } from '@trunkline/http';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MessageFiles } from '../content/message-files.ts';
import { agent, type Crew, startCrew } from '../fixtures/crew.ts';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';

let crew: Crew;
let { model, board } = {} as Crew;
beforeAll(async () => {
  crew = await startCrew();
  ({ model, board } = crew);
});
afterAll(() => crew.stop());

async function send(content: string, more: Json = {}, to = board): Promise<Json> {
  const message = {
    role: 'user',
    messageId: crypto.randomUUID(),
    parts: [{ kind: 'text', text: content }],
    ...more,
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
  return (await to.call('/a2a', call, { 'content-type': 'application/json' })).body.result;
}

describe('the switchboard as an A2A agent', () => {
  it('has a card with the skills of the helm', async () => {
    const { body } = await board.call('/.well-known/agent-card.json');
    expect(body).toMatchObject({ name: 'switchboard', skills: [{ id: 'chat' }] });
    expect(JSON.stringify(body)).toContain(`${board.url}/a2a`);
  });

  it('takes untargeted tasks to the helm, and others to whom they name', async () => {
    const task = await send('hello');
    expect(task.status.state).toBe('completed');
    expect(task.artifacts[0].parts[0].text).toBe('model-of-helm heard you');
    const other = await send('hello', { metadata: { agent: 'warden', skillHint: 'incidents' } });
    expect(other.artifacts[0].parts[0].text).toBe('model-of-warden heard you');
    expect((await send('hello', { metadata: { agent: 'warden', skillHint: 'chat' } })).status.state).toBe(
      'rejected',
    );
    expect((await board.call(`/api/flows/skill-${task.id}`)).body.data.targetAgent).toBe('helm');
  });

  it('knows in a conversation which files came before, and reads them again', async () => {
    const bytes = Buffer.from('Sail at noon.').toString('base64');
    const file = { kind: 'file', file: { name: 'plan.txt', mimeType: 'text/plain', bytes } };
    const more = { metadata: { agent: 'warden' }, contextId: 'with-files' };
    await send('', { ...more, parts: [{ kind: 'text', text: 'Keep this.' }, file] });
    await send('When?', more);
    const told = JSON.stringify(model.chats().at(-1)?.messages);
    const [, id] = /With this message came plan\.txt \(text\/plain, id ([\w-]+)\)/.exec(told) ?? [];
    model.enqueue({ toolCalls: [{ name: 'read_attachment', arguments: { id } }] }, 'At noon.');
    await send('Read it again.', more);
    const read = model
      .chats()
      .at(-1)
      ?.messages.findLast(({ role }) => role === 'tool');
    expect(read?.content).toContain('Sail at noon.');
  });

  it('has its agents as tenants', async () => {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    const { body } = await board.call('/a2a/warden/message:send', { message }, headers);
    expect(body.task.artifacts[0].parts[0].text).toBe('model-of-warden heard you');
    const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, tenant: 'helm' } };
    const named = await board.call('/a2a', call, headers);
    expect(named.body.result.task.artifacts[0].parts[0].text).toBe('model-of-helm heard you');
  });

  it('asks its caller what an agent asks a person, and goes on with the answer [S122]', async () => {
    model.enqueue(
      { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which port?' } }] },
      'thank you',
    );
    const asked = await send('sail');
    expect(asked.status).toMatchObject({ state: 'input-required' });
    expect(asked.status.message.parts[0].text).toBe('Which port?');
    const file = { kind: 'file', file: { name: 'port.txt', mimeType: 'text/plain', bytes: 'UG9ydA==' } };
    const parts = [{ kind: 'text', text: 'the left one' }, file];
    const done = await send('', { taskId: asked.id, contextId: asked.contextId, parts });
    expect(done.status.state).toBe('completed');
    const given = JSON.stringify(model.chats().at(-1)?.messages);
    expect(given).toMatch(
      /the left one\\n\[With the answer came port\.txt .*What I sent with my answer:.*Port/,
    );
    await send('', { parts: [{ kind: 'text', text: 'many' }, ...Array.from({ length: 21 }, () => file)] });
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('1 more files were not read');
  });

  it('brings its caller the result when somebody else answered what the agent asked', async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which sea?' } }] }, 'aye aye');
    const asked = await send('sail on');
    expect(asked.status.state).toBe('input-required');
    const { data } = (await board.call('/api/hitl/pending')).body;
    const { requestId } = data.find(({ question }: Json) => question === 'Which sea?');
    await board.call('/api/a2a/input', { requestId, answer: 'the northern one' });
    const get = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: asked.id } };
    const task = async () => (await board.call('/a2a', get)).body.result;
    await waitFor(async () => (await task()).status.state === 'completed');
    expect((await task()).artifacts[0].parts[0].text).toBe('aye aye');
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('the northern one');
  });

  it('brings it also when the question is settled while the files of the answer are fetched', async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which bay?' } }] }, 'at anchor');
    const asked = await send('moor');
    const { data } = (await board.call('/api/hitl/pending')).body;
    const { requestId } = data.find(({ question }: Json) => question === 'Which bay?');
    vi.spyOn(MessageFiles.prototype, 'fromParts').mockImplementationOnce(async () => {
      await board.call('/api/a2a/input', { requestId, answer: 'the quiet one' });
      await waitFor(
        async () => (await board.call(`/api/flows/skill-${asked.id}`)).body.data.status === 'complete',
      );
      return { files: [], problems: [] };
    });
    const done = await send('the windy one', { taskId: asked.id, contextId: asked.contextId });
    expect(done.status.state).toBe('completed');
    expect(done.artifacts[0].parts[0].text).toBe('at anchor');
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('the quiet one');
  });

  it('brings it also when the switchboard was started anew meanwhile', async () => {
    const home = `${board.home}/anew`;
    const env = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
    const files = { 'agents/helm.yaml': agent('helm', 'role: orchestrator\nskills: [{ name: chat }]') };
    const question = { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which star?' } }] };
    model.enqueue(question);
    const first = await startSwitchboard({ home, env, files });
    const asked = await send('steer', {}, first);
    expect(asked.status.state).toBe('input-required');
    await first.stop();
    model.enqueue(question, 'by the pole star');
    const second = await startSwitchboard({ home, env });
    const [{ requestId }] = (await second.call('/api/hitl/pending')).body.data;
    await second.call('/api/a2a/input', { requestId, answer: 'that of the pole' });
    const get = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: asked.id } };
    const task = async () => (await second.call('/a2a', get)).body.result;
    await waitFor(async () => (await task()).status.state === 'completed');
    expect((await task()).artifacts[0].parts[0].text).toBe('by the pole star');
    await second.stop();
  });

  it('streams progress as working and tool calls as artifacts [S119] [S120]', async () => {
    model.enqueue({ toolCalls: [{ name: 'get_incidents', arguments: {} }] }, 'none at all');
    const message = {
      role: 'user',
      messageId: 'm1',
      parts: [{ kind: 'text', text: 'x' }],
      metadata: { agent: 'warden' },
    };
    const response = await board.fetch('/a2a', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } }),
    });
    const events: Json[] = [];
    for await (const { data } of readSse(response.body!)) events.push(JSON.parse(data).result);
    const working = events.filter(({ status, final }) => status?.state === 'working' && final === false);
    const words = working.map(({ status }) => status.message.parts[0].text).join('');
    expect(words).toContain('none at all');
    expect(
      events.some(
        (event) => event.kind === 'artifact-update' && JSON.stringify(event).includes('get_incidents'),
      ),
    ).toBe(true);
    expect(events.at(-1)).toMatchObject({
      kind: 'status-update',
      final: true,
      status: { state: 'completed' },
    });
  });
});

describe('agents as models', () => {
  const complete = (body: Json) => board.call('/v1/chat/completions', body);
  const messages = [{ role: 'user', content: 'hello' }];

  it('are listed, alone and with each skill', async () => {
    const { body } = await board.call('/v1/models');
    const ids = body.data.map(({ id }: Json) => id);
    expect(ids).toEqual(expect.arrayContaining(['helm', 'helm/chat', 'warden/pr_review']));
  });

  it('answer whole', async () => {
    const { body } = await complete({ model: 'warden/incidents', messages });
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'warden/incidents',
      choices: [
        { message: { role: 'assistant', content: 'model-of-warden heard you' }, finish_reason: 'stop' },
      ],
      usage: { total_tokens: expect.any(Number) },
    });
    expect((await complete({ messages })).body.choices[0].message.content).toBe('model-of-helm heard you');
    await complete({
      model: 'helm',
      messages: [...messages, { role: 'assistant', content: 'yes?' }, { role: 'user', content: 'more' }],
    });
    expect(model.chats().at(-1)?.messages[1]?.content).toBe('user: hello\n\nassistant: yes?\n\nuser: more');
  });

  it('answer as a stream', async () => {
    const body = JSON.stringify({ model: 'helm', messages, stream: true });
    const response = await board.fetch('/v1/chat/completions', { method: 'POST', body });
    const data: string[] = [];
    for await (const event of readSse(response.body!)) data.push(event.data);
    expect(data.pop()).toBe('[DONE]');
    const chunks = data.map((text) => JSON.parse(text).choices[0]);
    expect(chunks.map(({ delta }) => delta.content ?? '').join('')).toBe('model-of-helm heard you');
    expect(chunks.at(-1).finish_reason).toBe('stop');
  });

  it('give the files that they make as links, which work for whoever has one, and the pages they cite', async () => {
    const series = [{ name: 'seen', values: [3] }];
    const chart = { name: 'chart', arguments: { type: 'bar', title: 'Ships', labels: ['May'], series } };
    const citations = [{ url: 'https://a.example/sea', title: 'Sea' }];
    const draw = () => model.enqueue({ toolCalls: [chart] }, { text: 'Three.', citations });
    const wanted = /^Three\.\n\nSources:\n\[1\] Sea: https:\/\/a\.example\/sea\n\n!\[Ships\.svg\]\((\S+)\)$/;
    draw();
    const { body } = await complete({ model: 'warden', messages });
    const [, url = ''] = wanted.exec(body.choices[0].message.content) ?? [];
    const picture = await fetch(url);
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(picture.headers.get('content-security-policy')).toContain('sandbox');
    expect(await picture.text()).toContain('Ships');
    const forged = new URL(url);
    forged.searchParams.set('expires', String(Number(forged.searchParams.get('expires')) + 60));
    expect((await fetch(forged)).status).toBe(403);
    draw();
    const whole = await board.call('/v1/responses', { model: 'warden', input: 'hello' });
    expect(whole.body.output.at(-1).content[0].text).toMatch(wanted);
    const stream = async () => {
      draw();
      const body = JSON.stringify({ model: 'warden', messages, stream: true });
      const streamed = await board.fetch('/v1/chat/completions', { method: 'POST', body });
      let text = '';
      for await (const { data } of readSse(streamed.body!))
        if (data !== '[DONE]') text += JSON.parse(data).choices[0]?.delta.content ?? '';
      return text;
    };
    expect(await stream()).toMatch(wanted);
    // A disk that fails costs the link, not the answer that is out already.
    vi.spyOn(MessageFiles.prototype, 'link').mockRejectedValueOnce(new Error('disk I/O error'));
    expect(await stream()).toMatch(/^Three\.[\s\S]*\(Ships\.svg cannot be linked to: [^)]*\)$/);
    expect(board.log.some((line) => line.includes('failed to link to a file of an answer'))).toBe(true);
  });

  it('hold at most 1 MB of an answer that nobody reads, also of short frames, then cut it off in words', async () => {
    // The name of the model is in each event, so that the buffers of the connection are full after few of them.
    const skill = 's'.repeat(4000);
    board.write('agents/clerk.yaml', agent('clerk', `role: general\nskills: [{ name: ${skill} }]`));
    await waitFor(async () => (await board.call(`/v1/models/clerk%2F${skill}`)).status === 200);
    const pieces = 9000;
    model.enqueue('five '.repeat(pieces));
    const place = new URL('/v1/chat/completions', board.url);
    const request = httpRequest(place, { method: 'POST', headers: { 'content-type': 'application/json' } });
    request.end(JSON.stringify({ model: `clerk/${skill}`, messages, stream: true }));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    // Nobody reads until the agent has said all.
    await waitFor(async () => {
      const [flow] = (await board.call('/api/flows?limit=1')).body.data.flows;
      return flow?.targetAgent === 'clerk' && flow.status === 'complete';
    });
    const received = await streamText(response);
    expect(received.slice(-300)).toContain('cut off: over 1000000 bytes of it waited to be read');
    expect(received.split('"five "').length).toBeLessThan(pieces);
  });

  it('fail in the words and shape that clients read', async () => {
    expect(await complete({ model: 'nobody', messages })).toMatchObject({
      status: 404,
      body: { error: { code: 'model_not_found', message: expect.stringContaining('nobody') } },
    });
  });
});
