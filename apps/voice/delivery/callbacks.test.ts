import { type A2aClient, createA2aClient, type OutgoingMessage, RemoteAgentError } from '@trunkline/a2a';
import { startModelServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAgentDelegate } from '../delegates/a2a-delegate.ts';
import { startWith } from '../delegates/delegates.suite.ts';
import { artifact, type PeerRequest } from '../peer.suite.ts';
import { json, startVoice, type TestVoice } from '../voice.suite.ts';
import { createLateAnswers } from './callbacks.ts';

describe('a delegate that answers late', () => {
  const lateLine = ([request]: readonly PeerRequest[]): { url: string; token: string } =>
    request?.body.params?.configuration?.pushNotificationConfig as unknown as { url: string; token: string };

  it('is given a way back, and what it pushes is spoken in its name', async () => {
    const spoken: string[] = [];
    const { peer, voice } = await startWith('type: a2a', () => 'stall', {
      PUBLIC_URL: 'http://voice.example/',
      A2A_AUTH_TOKEN: 'shared',
    });
    const user = voice.voice.users.find('default');
    const tool = user && voice.voice.persona(user).tools.find(({ name }) => name === 'delegate_to');
    const controller = new AbortController();
    const asking = tool?.execute?.(
      { target: 'scout', query: 'q' },
      { signal: controller.signal, sessionId: 's', toolCallId: 'c' },
    );
    await vi.waitFor(() => expect(peer.requests).toHaveLength(1));
    const { url, token } = lateLine(peer.requests);
    expect(url).toBe('http://voice.example/a2a/callback');
    controller.abort();
    await expect(asking).rejects.toThrow();
    voice.voice.sessions.open({ id: '1', userId: 'default', offer: ({ words }) => spoken.push(words) });
    const push = () =>
      voice.ask('/a2a/callback', {
        method: 'POST',
        body: '{"text":"Blue won."}',
        headers: { 'x-a2a-notification-token': token },
      });
    expect((await push()).body).toEqual({ ok: true, delivered: true });
    expect((await push()).body).toEqual({ ok: true, delivered: false, reason: 'already answered' });
    expect(spoken).toEqual(['scout says: Blue won.']);
  });

  it('is not asked the same again while its answer is to come, and is asked once it has come', async () => {
    const voice = await startVoice();
    const sent: (OutgoingMessage['push'] & { text: string })[] = [];
    const agent = { name: 'scout', url: 'http://127.0.0.1:9' };
    const client: A2aClient = {
      ...createA2aClient(),
      async send(_agent, { text, push }) {
        if (push !== undefined) sent.push({ ...push, text });
        throw new RemoteAgentError('agent_timeout', agent);
      },
    };
    const scout = createAgentDelegate(
      { type: 'a2a', name: 'scout', description: 'Knows sport.', agent },
      {
        client,
        late: createLateAnswers(() => `${voice.url}/a2a/callback`, voice.voice.tokens)('default', 'scout'),
        question: { find: () => undefined, set: () => undefined },
      },
    );
    const ask = (query: string) => scout.ask(query, { signal: new AbortController().signal, sessionId: 's' });
    const asked = () => sent.map(({ text }) => text);
    expect(await ask('Who won?')).toContain('scout is still at it.');
    expect(await ask(' who  won')).toContain('scout is still at it.');
    await ask('Who lost?');
    expect(asked()).toEqual(['Who won?', 'Who lost?']);
    const headers = { 'content-type': 'application/json', 'x-api-key': sent[0]?.token ?? '' };
    await voice.ask('/a2a/callback', { ...json({ text: 'Blue won.' }), headers });
    await ask('Who won?');
    expect(asked()).toEqual(['Who won?', 'Who lost?', 'Who won?']);
  });

  it('may come while a restart cuts the line, before it or after', async () => {
    const first = await startVoice();
    const { tokens } = first.voice;
    const [pushed, silent] = [tokens.issue('default', 'scout'), tokens.issue('default', 'sage')];
    const push = (voice: TestVoice, token: string, text: string) =>
      voice.ask('/a2a/callback', { ...json({ text }), headers: { 'x-api-key': token } });
    await push(first, pushed, 'Early.');
    await first.stop();
    const second = await startVoice({ home: first.home });
    const spoken: string[] = [];
    second.voice.sessions.open({ id: '1', userId: 'default', offer: ({ words }) => spoken.push(words) });
    expect((await push(second, silent, 'Late.')).body).toEqual({ ok: true, delivered: true });
    expect(spoken).toEqual(['scout says: Early.', 'sage says: Late.']);
  });

  it('is not heard twice when it also answers on the line', async () => {
    const { peer, voice } = await startWith('type: a2a', () => artifact('Blue won.'), {
      PUBLIC_URL: 'http://voice.example',
    });
    expect(await voice.say('Ask')).toBe('Heard: Blue won.');
    const { token } = lateLine(peer.requests);
    const push = await voice.ask('/a2a/callback', {
      method: 'POST',
      body: '{"text":"Blue won."}',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(push.body).toEqual({ ok: true, delivered: false, reason: 'already answered' });
  });
});

describe('a delegate that asks back', () => {
  const asking = (taskId: string, question: string) => ({
    jsonrpc: '2.0',
    id: 1,
    result: {
      kind: 'task',
      id: taskId,
      contextId: 'context-of-the-task',
      status: {
        state: 'input-required',
        message: { role: 'agent', parts: [{ kind: 'text', text: question }] },
      },
    },
  });
  const messageOf = (request: PeerRequest | undefined) => request?.body.params?.message;

  it('gets the answer with the next thing that it is handed, and then no more', async () => {
    const answers = [asking('task-7', 'Which year?'), artifact('Blue won.'), artifact('Red won.')];
    const { peer, voice } = await startWith('type: a2a', () => answers.shift() ?? { status: 500 });
    expect(await voice.say('Ask')).toMatch(/^Heard: scout asks: Which year\?\nPut this question to the user/);
    expect(await voice.say('Tell it')).toBe('Heard: Blue won.');
    expect(await voice.say('Ask')).toBe('Heard: Red won.');
    expect(peer.requests.map((request) => messageOf(request)?.taskId)).toEqual([
      undefined,
      'task-7',
      undefined,
    ]);
    expect(messageOf(peer.requests[1])?.contextId).toBe('context-of-the-task');
  });

  it('and has lost its task is asked again, instead of being handed answers for a day', async () => {
    const lost = { jsonrpc: '2.0', id: 1, error: { code: -32_001, message: 'Task not found' } };
    const answers = [asking('task-7', 'Which year?'), lost, artifact('Blue won.')];
    const { peer, voice } = await startWith('type: a2a', () => answers.shift() ?? { status: 500 });
    await voice.say('Ask');
    expect(await voice.say('Tell it')).toContain('Task not found');
    expect(await voice.say('Ask')).toBe('Heard: Blue won.');
    expect(messageOf(peer.requests[2])?.taskId).toBeUndefined();
  });

  it('by the callback is heard, and answered after a restart', async () => {
    const first = await startVoice();
    const token = first.voice.tokens.issue('default', 'scout');
    first.voice.tokens.update(token, { state: 'late' });
    const status = { state: 'input-required', message: { parts: [{ kind: 'text', text: 'Which year?' }] } };
    const push = { kind: 'status-update', taskId: 'task-8', contextId: 'c', status, final: true };
    const send = (voice: TestVoice, body: object) =>
      voice.ask('/a2a/callback', { ...json(body), headers: { 'x-a2a-notification-token': token } });
    await send(first, push);
    await first.stop();
    const { peer, voice } = await startWith('type: a2a', () => artifact('Blue won.'), {}, first.home);
    const spoken: string[] = [];
    voice.voice.sessions.open({ id: '1', userId: 'default', offer: ({ words }) => spoken.push(words) });
    expect(spoken).toEqual(['scout says: Which year?']);
    expect(await voice.say('Tell it')).toBe('Heard: Blue won.');
    expect(messageOf(peer.requests[0])).toMatchObject({ taskId: 'task-8', contextId: 'c' });
    // Had somebody else answered, what came of it would still be told.
    expect((await send(voice, { text: 'Blue won.' })).body).toEqual({ ok: true, delivered: true });
  });
});

describe('notifications that were written to be read', () => {
  const report = `# Tides\n\n${'The tide rises twice a day [1]. '.repeat(40)}\n\n## Sources\n\n1. [tides.md](https://x.example/tides.md)`;

  it('are summarized for the ear', async () => {
    const model = await startModelServer({ script: ['Tides come twice a day.'] });
    onTestFinished(() => model.stop());
    const voice = await startVoice({ env: { LLM_URL: model.url, LLM_MODEL: 'm' } });
    expect(await told(voice)).toEqual(['An agent says: Tides come twice a day.']);
    expect(JSON.stringify(model.chats()[0])).toContain('The tide rises twice a day');
  });

  it('are summarized though they are short, when they have headings', async () => {
    const model = await startModelServer({ script: ['Tides come twice a day.'] });
    onTestFinished(() => model.stop());
    const voice = await startVoice({ env: { LLM_URL: model.url, LLM_MODEL: 'm' } });
    expect(await told(voice, '# Tides\n\nTwice a day.')).toEqual(['An agent says: Tides come twice a day.']);
  });

  it.each([
    ['without a model', {}],
    ['by a model that fails', { LLM_URL: 'http://127.0.0.1:9', LLM_MODEL: 'm' }],
  ])('are told by their beginning %s', async (_case, env) => {
    const [words = ''] = await told(await startVoice({ env }));
    expect(words).toMatch(/^An agent says: The tide rises twice a day\. .* There is more of it to read\.$/);
    expect(words.split(' ').length).toBeLessThan(110);
    expect(words).not.toMatch(/tides\.md|\[1\]|#/);
  });

  async function told(voice: TestVoice, text = report): Promise<string[]> {
    const spoken: string[] = [];
    voice.voice.sessions.open({ id: '1', userId: 'default', offer: ({ words }) => spoken.push(words) });
    await voice.post('/a2a/callback', { text });
    await vi.waitFor(() => expect(spoken).toHaveLength(1), { timeout: 60_000 });
    return spoken;
  }
});
