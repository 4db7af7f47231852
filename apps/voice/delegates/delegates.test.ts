import { describe, expect, it } from 'vitest';
import { artifact, startPeer } from '../peer.suite.ts';
import { startVoice } from '../voice.suite.ts';
import { startWith } from './delegates.suite.ts';

describe('an agent as delegate', () => {
  it('gets one request in the form of the contract, and its first text is the answer [V005][V027][V028][V029][V030][V033][V106][V124]', async () => {
    const { peer, model, voice } = await startWith(
      'type: a2a, auth: {scheme: apiKey, credentialsEnv: SCOUT_KEY}, headers: {X-Team: blue}',
      () => artifact('Blue won.', 'Not said.'),
      { SCOUT_KEY: 'scout-secret' },
    );
    expect(await voice.say('Ask who won')).toBe('Heard: Blue won.');
    expect(peer.requests).toHaveLength(1);
    expect(peer.requests[0]?.headers).toMatchObject({ 'x-api-key': 'scout-secret', 'x-team': 'blue' });
    expect(peer.requests[0]?.body).toMatchObject({
      jsonrpc: '2.0',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      method: 'message/send',
      params: {
        contextId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        message: { role: 'user', parts: [{ kind: 'text', text: 'Who won?' }] },
      },
    });
    const tool = model.chats()[0]?.tools?.find((offered) => offered.function.name === 'delegate_to');
    expect(tool?.function.description).toContain('- scout: Knows sport.');
    expect(tool?.function.parameters).toMatchObject({ properties: { target: { enum: ['scout'] } } });
    expect((await voice.get('/healthz')).body.delegates).toEqual([{ name: 'scout', type: 'a2a' }]);
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({ delegate_to: 1 });
  });

  it('gets its credential as a bearer token when the file says so [V031][V032]', async () => {
    const { peer, voice } = await startWith(
      'type: a2a, auth: {scheme: bearer, credentialsEnv: SCOUT_KEY}',
      () => artifact('Yes.'),
      { SCOUT_KEY: 'scout-secret' },
    );
    await voice.say('Ask');
    expect(peer.requests[0]?.headers.authorization).toBe('Bearer scout-secret');
  });

  it.each([
    ['an HTTP error', { status: 500 }, 'Error: The agent scout answered with an error: HTTP status 500'],
    ['a wrong key', { status: 401 }, 'Error: The agent scout did not accept our credentials.'],
    [
      'a JSON-RPC error',
      { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'boom' } },
      'Error: The agent scout answered with an error: boom',
    ],
    [
      'no artifact',
      { jsonrpc: '2.0', id: 1, result: { kind: 'task', status: { state: 'completed' } } },
      'Error: The agent scout finished without an answer.',
    ],
    [
      'no sense',
      { hello: 1, result: 'x' },
      'Error: The agent scout answered in a way that could not be understood.',
    ],
  ])(
    'that answers with %s becomes words that can be spoken, and the turn goes on [V116]',
    async (_case, answer, words) => {
      const { voice } = await startWith('type: a2a', () => answer);
      expect(await voice.say('Ask')).toBe(`Heard: ${words}`);
    },
  );

  it('whose key is not set is called without, and the log names the variable', async () => {
    const { peer, voice } = await startWith(
      'type: a2a, auth: {scheme: bearer, credentialsEnv: NOT_SET}',
      () => ({ status: 401 }),
    );
    expect(await voice.say('Ask')).toBe('Heard: Error: The agent scout did not accept our credentials.');
    expect(peer.requests[0]?.headers.authorization).toBeUndefined();
    expect(voice.lines.some(({ message }) => message.includes('NOT_SET'))).toBe(true);
  });

  it('that cannot be reached is told so', async () => {
    const { voice } = await startWith('type: a2a', () => artifact('x'), { PEER_URL: 'http://127.0.0.1:9' });
    expect(await voice.say('Ask')).toBe('Heard: Error: The agent scout could not be reached.');
  });
});

it('is asked by the demo model too', async () => {
  const peer = await startPeer(() => artifact('Blue won.'));
  const voice = await startVoice({
    files: {
      'delegates.yaml': `delegates: [{name: scout, description: Knows sport., type: a2a, url: "${peer.url}"}]`,
    },
  });
  expect(await voice.say('ask scout who won the match')).toContain('Blue won.');
});

describe('an endpoint as delegate', () => {
  const completion = (content: string) => ({ choices: [{ message: { role: 'assistant', content } }] });

  it('is asked with the defaults of the contract [V034][V036][V037][V038][V119][V120]', async () => {
    const { peer, voice } = await startWith('type: compat, model: big', () => completion('Red won.'));
    expect(await voice.say('Ask')).toBe('Heard: Red won.');
    expect(peer.requests[0]).toMatchObject({
      path: '/chat/completions',
      body: {
        model: 'big',
        max_tokens: 400,
        temperature: 0.4,
        messages: [
          { role: 'system', content: expect.stringContaining('research assistant') },
          { role: 'user', content: 'Who won?' },
        ],
      },
    });
    expect(peer.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('is asked as the file says [V035]', async () => {
    const { peer, voice } = await startWith(
      'type: compat, model: big, api_key_env: BIG_KEY, max_tokens: 50, temperature: 0, system_prompt: Be a poet.',
      () => completion('Roses.'),
      { BIG_KEY: 'big-secret' },
    );
    await voice.say('Ask');
    expect(peer.requests[0]?.headers.authorization).toBe('Bearer big-secret');
    expect(peer.requests[0]?.body).toMatchObject({
      max_tokens: 50,
      temperature: 0,
      messages: [{ content: 'Be a poet.' }, {}],
    });
  });

  it('that fails becomes spoken words', async () => {
    const { voice } = await startWith('type: compat, model: big', () => ({ status: 502 }));
    expect(await voice.say('Ask')).toBe('Heard: Error: scout failed to answer.');
  });
});

describe('the file', () => {
  const list = (name: string, url: string) =>
    `delegates: [{name: ${name}, description: D., type: a2a, url: "${url}"}]`;

  it('is read anew by a reload, also for a session that goes on [V083]', async () => {
    const first = await startPeer(() => artifact('first'));
    const second = await startPeer(() => artifact('second'));
    const voice = await startVoice({ files: { 'delegates.yaml': list('scout', first.url) } });
    const user = voice.voice.users.find('default');
    const tool = user && voice.voice.persona(user).tools.find(({ name }) => name === 'delegate_to');
    const ask = () =>
      tool?.execute?.(
        { target: 'scout', query: 'q' },
        { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c' },
      );
    expect(await ask()).toBe('first');
    voice.put('delegates.yaml', list('scout', second.url));
    expect((await voice.post('/api/delegates/reload', {})).body).toEqual({ ok: true, delegates: ['scout'] });
    expect(await ask()).toBe('second');
    voice.put('delegates.yaml', 'delegates:');
    expect((await voice.post('/api/delegates/reload', {})).body).toEqual({ ok: true, delegates: [] });
    expect(await ask()).toBe('Error: scout is not there any more.');
  });

  it.each([
    ['delegates: [{name: a, description: D, type: ftp, url: "http://x"}]', 'delegates.yaml:1'],
    ['delegates:\n  - {name: a, description: D, type: compat, url: "http://x"}', 'model'],
    [`delegates:\n  - {name: a, description: D, type: a2a, url: "\${NOT_SET_HERE}"}`, 'NOT_SET_HERE'],
    [
      'delegates:\n  - {name: a, description: D, type: a2a, url: "http://x"}\n  - {name: a, description: E, type: a2a, url: "http://y"}',
      'the name a stands twice',
    ],
  ])('that is broken keeps what was loaded: %s', async (text, words) => {
    const voice = await startVoice({ files: { 'delegates.yaml': list('scout', 'http://127.0.0.1:9') } });
    voice.put('delegates.yaml', text);
    const { status, body } = await voice.post('/api/delegates/reload', {});
    expect(status).toBe(200);
    expect(body.error).toContain(words);
    expect((await voice.get('/healthz')).body.delegates).toEqual([{ name: 'scout', type: 'a2a' }]);
  });

  it('may stand elsewhere, and put defaults for variables', async () => {
    const voice = await startVoice({
      files: { 'other.yaml': list('far', `\${NOT_SET:-http://127.0.0.1:9/a2a}`) },
      env: { DELEGATES_YAML: '/nonexistent/delegates.yaml' },
    });
    expect(voice.voice.delegates.entries).toEqual([]);
    await voice.stop();
    const again = await startVoice({
      home: voice.home,
      env: { DELEGATES_YAML: `${voice.config}/other.yaml` },
    });
    expect(again.voice.delegates.entries).toMatchObject([
      { name: 'far', agent: { url: 'http://127.0.0.1:9/a2a' } },
    ]);
  });

  it('names only those that the skill allows, and no tool where there is none [V026]', async () => {
    const files = {
      'delegates.yaml':
        'delegates:\n  - {name: a, description: A., type: a2a, url: "http://x"}\n  - {name: b, description: B., type: a2a, url: "http://y"}',
      'skills/default.yaml': 'name: D',
      'skills/some.yaml': 'delegates: [b, ghost]',
      'skills/none.yaml': 'delegates: []',
      'skills/untold.yaml': 'tools: [calculator]',
    };
    const voice = await startVoice({ files });
    const user = voice.voice.users.find('default');
    const offered = async (slug: string) => {
      await voice.post('/api/skills', { slug });
      const tool = user && voice.voice.persona(user).tools.find(({ name }) => name === 'delegate_to');
      return tool?.description;
    };
    expect(await offered('default')).toMatch(/a: A\.\n- b: B\./);
    expect(await offered('some')).not.toContain('a: A.');
    expect(await offered('none')).toBeUndefined();
    expect(await offered('untold')).toBeUndefined();
  });
});
