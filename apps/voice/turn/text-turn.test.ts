import { readOptions } from '@trunkline/config';
import { startModelServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { voiceOptions } from '../options.ts';
import { startVoice } from '../voice.suite.ts';

async function startWithModel(
  script: Parameters<typeof startModelServer>[0],
  setup: { env?: Record<string, string>; files?: Record<string, string>; home?: string } = {},
) {
  const model = await startModelServer(script);
  onTestFinished(() => model.stop());
  const env = { LLM_URL: model.url, LLM_MODEL: 'main-model', ...setup.env };
  return { model, voice: await startVoice({ ...setup, env }) };
}

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 7, method, params });
const message = (text: string) => ({ message: { role: 'user', parts: [{ kind: 'text', text }] } });

describe('a written message', () => {
  it('is answered by the persona of the configured user [V061][V062][V063][V088][V090]', async () => {
    const { model, voice } = await startWithModel(
      {
        script: [
          { toolCalls: [{ name: 'calculator', arguments: { expression: '6*7' } }] },
          'It is forty-two.',
        ],
      },
      {
        env: { A2A_USER_ID: 'ben' },
        files: {
          'users.yaml': 'users: [{id: ada, api_key: a}, {id: ben, api_key: b, allowed_skills: [sage]}]',
          'skills/sage.yaml':
            'system_prompt: You are a sage.\ntemperature: 0.1\nmax_tokens: 33\ntools: [calculator]',
        },
      },
    );
    const { body } = await voice.post('/a2a', rpc('message/send', message('six times seven?')));
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      result: { kind: 'task', status: { state: 'completed' } },
    });
    expect(body.result?.artifacts?.[0]?.parts?.[0]).toEqual({ kind: 'text', text: 'It is forty-two.' });
    const [first] = model.chats();
    expect(first).toMatchObject({ model: 'main-model', temperature: 0.1, max_tokens: 33 });
    expect(first?.messages[0]?.content).toContain('You are a sage.');
    expect(first?.tools?.map((tool) => tool.function.name)).toEqual(['calculator']);
    expect((await voice.get('/api/metrics', 'a')).body).toEqual({
      boot_at: expect.any(Number),
      uptime_secs: expect.any(Number),
      sessions_total: 0,
      sessions_active: 0,
      a2a_inbound_total: 1,
      tool_calls_total: 1,
      tool_calls_by_name: { calculator: 1 },
      clone_requests_total: 0,
      audio_frames_late_total: 0,
      turn_latency: expect.objectContaining({ turns: 0 }),
    });
  });

  it('goes on in its context, also after a restart', async () => {
    const first = await startWithModel({ script: ['Hello Ada.'] });
    await first.voice.say('I am Ada', { contextId: 'talk' });
    await first.voice.stop();
    const { model, voice } = await startWithModel({ script: ['You are Ada.'] }, { home: first.voice.home });
    expect(await voice.say('Who am I?', { contextId: 'talk' })).toBe('You are Ada.');
    expect(model.chats()[0]?.messages.slice(1)).toMatchObject([
      { role: 'user', content: 'I am Ada' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'Who am I?' },
    ]);
  });

  it('does not show its sender the reminders that the user set in a call', async () => {
    const script = [{ toolCalls: [{ name: 'cancel_reminder', arguments: { id: 'x' } }] }, 'No.'];
    const { model, voice } = await startWithModel({ script });
    voice.voice.reminders.set('default', { text: 'Call the doctor.', when: '0 9 * * *' });
    await voice.say('Cancel it');
    expect(model.chats()[1]?.messages.at(-1)?.content).toBe('Error: no such reminder. None waits.');
  });

  it('fails in words when the model does', async () => {
    const { voice } = await startWithModel({ script: [{ fault: 'status', status: 401 }] });
    const { body } = await voice.post('/a2a', rpc('message/send', message('x')));
    expect(body.result?.status?.state).toBe('failed');
    expect(body.result?.status?.message?.parts?.[0]?.text).toEqual(expect.stringMatching(/key/i));
  });

  it('fails in words when no model is named', async () => {
    const voice = await startVoice({ env: { LLM_URL: 'http://127.0.0.1:9/v1' } });
    const { body } = await voice.post('/a2a', rpc('message/send', message('x')));
    expect(body.result?.status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: expect.stringContaining('LLM_MODEL') }] },
    });
  });

  it('is asked of the model that the skill names, with the key it names and no other', async () => {
    const other = await startModelServer({ script: ['From the other.'], apiKey: 'other-key' });
    onTestFinished(() => other.stop());
    const { model, voice } = await startWithModel(
      { script: [] },
      {
        env: { LLM_API_KEY: 'main-key', OTHER_KEY: 'other-key' },
        files: { 'skills/default.yaml': `llm: {url: "${other.url}", model: small, api_key_env: OTHER_KEY}` },
      },
    );
    expect(await voice.say('x')).toBe('From the other.');
    expect(other.chats()[0]?.model).toBe('small');
    expect(model.requests).toEqual([]);
  });

  it('is answered by the demo model where none is configured', async () => {
    const voice = await startVoice();
    expect(await voice.say('what is 12*12?')).toContain('144');
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({ calculator: 1 });
  });
});

describe('the tools of a skill', () => {
  it('are all, those it lists, or none with a word in the log [V026]', async () => {
    const files = {
      'skills/default.yaml': 'name: D',
      'skills/few.yaml': 'tools: [calculator, current_time, ghost]',
      'skills/lost.yaml': 'tools: [ghost]',
    };
    const { model, voice } = await startWithModel({ script: () => 'ok' }, { files });
    const offered = async (slug: string) => {
      await voice.post('/api/skills', { slug });
      await voice.say('x');
      return (
        model
          .chats()
          .at(-1)
          ?.tools?.map((tool) => tool.function.name) ?? []
      );
    };
    expect(await offered('default')).toEqual([
      'current_time',
      'calculator',
      'look_up',
      'web_search',
      'fetch_url',
      'deep_research',
      'set_reminder',
      'cancel_reminder',
    ]);
    expect(await offered('few')).toEqual(['current_time', 'calculator']);
    expect(voice.lines.some(({ message: words }) => words.includes('skill lists no known tool'))).toBe(false);
    expect(await offered('lost')).toEqual([]);
    expect(voice.lines.some(({ message: words }) => words.includes('skill lists no known tool'))).toBe(true);
  });
});

describe('the protocol', () => {
  it('answers its errors as decided, and the other methods too', async () => {
    const voice = await startVoice({ env: { A2A_AUTH_TOKEN: 'shared' } });
    expect(await voice.post('/a2a', rpc('message/send', message('x')))).toMatchObject({
      status: 401,
      body: { id: null, error: { code: -32600, message: 'Unauthorized' } },
    });
    const code = async (body: unknown) => (await voice.post('/a2a', body, 'shared')).body.error?.code;
    expect(await code('{')).toBe(-32700);
    expect(await code(rpc('no/such'))).toBe(-32601);
    expect(
      await code(rpc('message/send', { message: { role: 'user', parts: [{ kind: 'data', data: {} }] } })),
    ).toBe(-32602);
    const bearer = {
      method: 'POST',
      body: JSON.stringify(rpc('message/send', message('what is 2+2?'))),
      headers: { authorization: 'Bearer shared', 'content-type': 'application/json' },
    };
    const { body } = await voice.ask('/a2a', bearer);
    expect(body.result?.artifacts?.[0]?.parts?.[0]?.text).toContain('4');
    expect(
      (await voice.post('/a2a', rpc('tasks/get', { id: body.result?.id }), 'shared')).body.result?.id,
    ).toBe(body.result?.id);
    expect((await voice.get('/api/metrics')).body.a2a_inbound_total).toBe(1);
  });

  it('streams, and speaks the newer dialect', async () => {
    const voice = await startVoice();
    const streamed = await voice.post('/a2a', rpc('message/stream', message('what is 2+2?')));
    expect(streamed.headers.get('content-type')).toContain('text/event-stream');
    expect(streamed.body).toContain('"state":"completed"');
    const newer = await voice.ask('/a2a', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify(
        rpc('SendMessage', {
          message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'what is 3+3?' }] },
        }),
      ),
    });
    expect(newer.body.result?.task?.artifacts?.[0]?.parts?.[0]?.text).toContain('6');
  });

  it('shows a card at both places, for a minute, and behind the token when there is one [V089][V103][V123]', async () => {
    const voice = await startVoice({
      env: { A2A_AUTH_TOKEN: 'shared', AGENT_NAME: 'Iris', PUBLIC_URL: 'https://iris.example/' },
    });
    expect((await voice.get('/.well-known/agent-card.json')).status).toBe(401);
    for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json']) {
      const { body, headers } = await voice.get(path, 'shared');
      expect(headers.get('cache-control')).toBe('public, max-age=60');
      expect(body).toMatchObject({
        name: 'Iris',
        description: expect.any(String),
        url: 'https://iris.example/a2a',
        version: expect.any(String),
        provider: { organization: 'Trunkline' },
        capabilities: { streaming: true },
        defaultInputModes: ['text/plain'],
        defaultOutputModes: ['text/markdown'],
        skills: [{ id: 'chat' }],
        securitySchemes: { apiKey: { name: 'X-API-Key' }, bearer: { scheme: 'bearer' } },
        supportedInterfaces: expect.arrayContaining([expect.objectContaining({ protocolVersion: '1.0' })]),
      });
    }
  });

  it('names the address it listens on where no other is set', async () => {
    const voice = await startVoice();
    const { body, headers } = await voice.get('/.well-known/agent-card.json');
    expect(body.url).toBe(`${voice.url}/a2a`);
    expect(Object.keys(body.securitySchemes ?? {})).toEqual(['apiKey']);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    const again = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
    expect((await voice.ask('/.well-known/agent-card.json', again)).status).toBe(304);
    const newer = await voice.ask('/.well-known/agent-card.json', { headers: { 'a2a-version': '1.0' } });
    expect(newer.body.securitySchemes).toEqual({});
  });
});

describe('what the service says about itself', () => {
  it('is public and has every field of the contract [V008][V057][V058][V074][V102]', async () => {
    const voice = await startVoice({
      env: {
        HALF_DUPLEX: '1',
        ECHO_GUARD_MS: '120',
        NOISE_FILTER: 'rnnoise',
        SMART_TURN: 'local',
        TTS_BACKEND: 'compat',
        STT_BACKEND: 'compat',
      },
    });
    const { status, body } = await voice.get('/healthz');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'ok',
      stt_backend: 'compat',
      tts_backend: 'compat',
      auth_source: 'empty',
      user_count: 0,
      active_sessions: 0,
      delegates: [],
      skills: ['chef', 'default'],
      audio: { half_duplex: true, echo_guard_ms: 120, noise_filter: 'rnnoise', smart_turn: 'local' },
      model: { demo: true },
    });
    const metrics = (await voice.get('/api/metrics')).body;
    expect(Math.abs(Number(metrics.boot_at) - Date.now() / 1000)).toBeLessThan(60);
    expect(metrics.uptime_secs).toBe(Math.round(Number(metrics.uptime_secs) * 10) / 10);
  });

  it('has the defaults of the contract [V002][V044]', async () => {
    expect(readOptions(voiceOptions, { env: {} })).toMatchObject({
      port: 7866,
      sidecarSampleRate: 44_100,
      sidecarTimeout: 180,
      sidecarReferenceId: undefined,
    });
    const voice = await startVoice();
    expect((await voice.get('/healthz')).body).toMatchObject({
      stt_backend: 'local',
      tts_backend: 'sidecar',
      audio: { half_duplex: false, echo_guard_ms: 300, noise_filter: 'off', smart_turn: 'off' },
    });
  });
});
