import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import * as agent from '@trunkline/agent';
import { createLogger, readOptions } from '@trunkline/config';
import * as research from '@trunkline/research';
import type { Service } from '@trunkline/service';
import * as switchboard from '@trunkline/switchboard';
import { type ModelServer, startModelServer, temporaryDirectory } from '@trunkline/testing';
import { APICallError, generateText, streamText } from 'ai';
import OpenAI, { type APIError } from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const KEY = 'the-key';
const home = temporaryDirectory();
const services: Record<string, Service> = {};
let model: ModelServer;

/** OpenAI's own client against all three services that have the API [A129]. */
beforeAll(async () => {
  model = await startModelServer();
  const env = {
    TRUNKLINE_HOME: home.path,
    TRUNKLINE_OPEN: '1',
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'key',
    LLM_MODEL: 'test-model',
    AGENT_PORT: '0',
    PORT: '0',
    SWITCHBOARD_PORT: '0',
    CODEHOST_WEBHOOK_PORT: '0',
    TRACKER_WEBHOOK_PORT: '0',
    A2A_AUTH_TOKEN: KEY,
    RESEARCH_AUTH_TOKEN: KEY,
    SWITCHBOARD_API_KEY: KEY,
    RESEARCH_KEYLESS_SEARCH: '0',
  };
  const context = {
    env,
    logger: createLogger({ name: 'test', level: 'ERROR', destination: { write: () => undefined } }),
  };
  services.agent = await agent.start(readOptions(agent.agentOptions, { env, argv: [] }), context);
  services.research = await research.start(readOptions(research.researchOptions, { env, argv: [] }), context);
  services.switchboard = await switchboard.start(
    readOptions(switchboard.switchboardOptions, { env, argv: [] }),
    context,
  );
});
afterEach(() => model.forget());
afterAll(async () => {
  model.release();
  await Promise.all(Object.values(services).map((service) => service.stop()));
  await model.stop();
  home.remove();
});

const listed: Record<string, string[]> = {
  agent: ['trunkline-agent', 'trunkline-agent/model'],
  research: ['research-chat', 'research-deep'],
  switchboard: ['helm', 'helm/chat'],
};

const passedOnByAgent = {
  reasoning_effort: 'low',
  parallel_tool_calls: false,
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  seed: 1,
  stop: ['END'],
  max_completion_tokens: 50,
  logit_bias: { '1': 1 },
};

const doors = [
  ['agent', 'trunkline-agent'],
  ['research', 'research-chat'],
  ['switchboard', 'helm'],
] as const;

describe.each(doors)('the client of the AI SDK and %s', (service, name) => {
  const door = () =>
    createOpenAICompatible({
      name: 'trunkline',
      baseURL: `${services[service]?.url}/v1`,
      apiKey: KEY,
      includeUsage: true,
    })(name);
  const usage = { inputTokens: 10, outputTokens: 2, totalTokens: 12 };

  it('gets an answer, whole and as a stream, with its usage', async () => {
    model.enqueue({ text: 'Four.', usage: { input: 10, output: 2 } });
    const whole = await generateText({ model: door(), system: 'Be brief.', prompt: '2+2?', maxRetries: 0 });
    expect(whole).toMatchObject({ text: 'Four.', finishReason: 'stop', usage });
    model.enqueue({ text: 'Four again.', usage: { input: 10, output: 2 } });
    const stream = streamText({ model: door(), prompt: '2+2?', maxRetries: 0 });
    expect(await stream.text).toBe('Four again.');
    expect([await stream.finishReason, await stream.usage]).toMatchObject(['stop', usage]);
  });

  it('hands on reasoning effort, penalties and parallel tool calls, or is told by name', async () => {
    const settings = { frequencyPenalty: 0.5, presencePenalty: 0.25, seed: 1, stopSequences: ['END'] };
    // The search chat has tools of its own, and takes none.
    const calls = service === 'agent' ? { parallel_tool_calls: false } : {};
    if (service !== 'switchboard') {
      model.enqueue('Yes.');
      const providerOptions = { trunkline: { reasoningEffort: 'low', ...calls } };
      const { text } = await generateText({ model: door(), prompt: 'Hi', ...settings, providerOptions });
      expect(text).toBe('Yes.');
      expect(model.chats().at(-1)).toMatchObject({
        ...{ frequency_penalty: 0.5, presence_penalty: 0.25, seed: 1, stop: ['END'] },
        ...{ reasoning_effort: 'low', ...calls },
      });
    }
    const inCalls: [string, object] = [
      'parallel_tool_calls',
      { providerOptions: { trunkline: { parallel_tool_calls: false } } },
    ];
    const refused: [string, object][] = [
      ['frequency_penalty', { frequencyPenalty: 0.5 }],
      ['presence_penalty', { presencePenalty: 0.25 }],
      ['reasoning_effort', { providerOptions: { trunkline: { reasoningEffort: 'low' } } }],
      inCalls,
    ];
    for (const [parameter, more] of { agent: [], research: [inCalls], switchboard: refused }[service]) {
      const work = generateText({ model: door(), prompt: 'Hi', maxRetries: 0, ...more });
      const error = await work.then(String, (thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(APICallError);
      expect(error).toMatchObject({ statusCode: 400, message: expect.stringContaining(parameter) });
    }
  });
});

describe.each(doors)("OpenAI's client and %s", (service, name) => {
  const client = (apiKey = KEY) =>
    new OpenAI({ baseURL: `${services[service]?.url}/v1`, apiKey, maxRetries: 0 });
  const ask = (content: string) => ({ model: name, messages: [{ role: 'user' as const, content }] });
  const create = (body: object) =>
    client().chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming);
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error as APIError,
    );

  it('lists the models and gets each of them, slashes included', async () => {
    const ids = [];
    for await (const each of client().models.list()) ids.push(each.id);
    expect(ids).toEqual(expect.arrayContaining(listed[service] ?? []));
    for (const id of listed[service] ?? [])
      expect(await client().models.retrieve(id)).toMatchObject({ id, object: 'model' });
  });

  it('gets a whole answer with its usage', async () => {
    model.enqueue({ text: 'Four.', usage: { input: 10, output: 2 } });
    const answer = await create({
      model: name,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: '2+2?' }] },
      ],
    });
    expect(answer).toMatchObject({ object: 'chat.completion', model: name });
    expect(answer.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'Four.', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ]);
    expect(answer.usage).toEqual({ prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 });
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('Be brief.');
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('2+2?');
    model.enqueue({ text: 'Four.', usage: { input: 0, output: 0 } });
    const guessed = await create({ model: name, messages: [{ role: 'user', content: '2+2?' }] });
    expect(guessed.usage).toMatchObject({ total_tokens: expect.any(Number), estimated: true });
  });

  it('gets tokens while the model still speaks, then usage if it asks for it', async () => {
    for (const include_usage of [true, false]) {
      model.enqueue({ fault: 'stall', text: 'Hello there', answer: ', friend.' });
      const stream = await client().chat.completions.create({
        ...ask('Hi'),
        stream: true,
        stream_options: { include_usage },
      });
      let text = '';
      const usages: unknown[] = [];
      const finishes: unknown[] = [];
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        if (chunk.usage) usages.push(chunk.usage);
        if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
        // The rest comes only after these words have arrived here.
        if (text === 'Hello there') model.release();
      }
      expect([text, finishes]).toEqual(['Hello there, friend.', ['stop']]);
      expect(usages).toEqual(
        include_usage ? [expect.objectContaining({ total_tokens: expect.any(Number) })] : [],
      );
    }
  });

  it('gets responses: whole, as a stream that goes on from it, and in the background', async () => {
    const { responses } = client();
    model.enqueue({ text: 'Four.', usage: { input: 10, output: 2 } });
    const first = await responses.create({ model: name, input: '2+2?', instructions: 'Be brief.' });
    expect(first).toMatchObject({ status: 'completed', output_text: 'Four.', model: name });
    expect(first.usage).toMatchObject({ input_tokens: 10, output_tokens: 2, total_tokens: 12 });
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('Be brief.');
    model.enqueue('Eight.');
    const more = { model: name, input: 'Twice that?', previous_response_id: first.id };
    const second = await responses.stream(more).finalResponse();
    expect([second.output_text, second.previous_response_id]).toEqual(['Eight.', first.id]);
    const told = JSON.stringify(model.chats().at(-1)?.messages);
    for (const words of ['2+2?', 'Four.', 'Twice that?']) expect(told).toContain(words);

    model.enqueue({ fault: 'stall', text: 'Sixteen', answer: ' it is.' });
    const { id } = await responses.create({ model: name, input: 'And twice that?', background: true });
    const task = (state: string) =>
      expect.poll(async () => (await responses.retrieve(id)).status).toBe(state);
    await task('in_progress');
    await expect.poll(() => JSON.stringify(model.chats().at(-1))).toContain('And twice that?');
    model.release();
    await task('completed');
    expect((await responses.retrieve(id)).output_text).toBe('Sixteen it is.');
    const shown = await fetch(`${services[service]?.url}/tasks`, {
      headers: { authorization: `Bearer ${KEY}`, 'A2A-Version': '1.0' },
    });
    expect(await shown.text()).toContain('And twice that?');
    const { data } = await responses.inputItems.list(id);
    expect(data).toMatchObject([{ type: 'message', content: [{ text: 'And twice that?' }] }]);
    await responses.delete(id);
    expect((await refusal(responses.retrieve(id)))?.status).toBe(404);
    const tools = [{ type: 'file_search' as const, vector_store_ids: ['v'] }];
    const refused = await refusal(responses.create({ model: name, input: 'Hi', tools }));
    expect([refused?.status, refused?.param]).toEqual([400, 'tools']);
  });

  it('is told by name what is not passed on, and nothing is dropped in silence', async () => {
    for (const [param, value] of Object.entries(
      {
        agent: { logprobs: true, functions: [{ name: 'f' }] },
        research: { parallel_tool_calls: false, logprobs: true },
        switchboard: { ...passedOnByAgent, logprobs: true },
      }[service],
    )) {
      const error = await refusal(create({ ...ask('Hi'), [param]: value }));
      expect([error?.status, error?.type, error?.param]).toEqual([400, 'invalid_request_error', param]);
      expect(error?.message).toContain(param);
    }
    const wrong = await refusal(create({ ...ask('Hi'), temperature: 'hot' }));
    expect(wrong?.param).toBe('temperature');
    model.enqueue('Yes.');
    const usual = { temperature: 0.5, frequency_penalty: 0, parallel_tool_calls: true, logprobs: false };
    const { response } = await client()
      .chat.completions.create({ ...ask('Hi'), ...usual })
      .withResponse();
    expect(response.headers.get('x-ignored-parameters')).toBe(
      service === 'switchboard' ? 'temperature' : null,
    );
  });

  it('has its sampling passed on to the model, and is told what that one refuses', async () => {
    if (service === 'switchboard') return;
    const sampling = { temperature: 0.25, seed: 7, max_completion_tokens: 60 };
    model.enqueue('Yes.');
    await create({ ...ask('Hi'), ...sampling });
    const { max_completion_tokens: max_tokens, ...same } = sampling;
    expect(model.chats().at(-1)).toMatchObject({ ...same, max_tokens });
    // What a model refuses is remembered for all services of the process.
    const [first, second] = {
      agent: [{ presence_penalty: 0.5 }, { logit_bias: { '1': 1 } }],
      research: [{ frequency_penalty: 0.5 }, { verbosity: 'low' as const }],
    }[service];
    for (const [given, stream] of [
      [first, false],
      [second, true],
    ] as const) {
      const [param = ''] = Object.keys(given ?? {});
      for (const isKnown of [false, true]) {
        const message = `Unsupported parameter: '${param}' is not supported with this model.`;
        if (!isKnown) model.enqueue({ fault: 'status', status: 400, message });
        model.enqueue('Yes.');
        const body = { ...ask('Hi'), ...given, stream };
        const response = await client().chat.completions.create(body).asResponse();
        expect(response.headers.get('x-ignored-parameters')).toBe(param);
        await response.text();
      }
    }
  });

  it('gets a failure of the model as 502 before anything was streamed, whole or as a stream', async () => {
    for (const stream of [false, true]) {
      model.enqueue({ fault: 'status', status: 401 });
      const error = await refusal(create({ ...ask('Hi'), stream }));
      expect([error?.status, error?.type]).toEqual([502, 'upstream_error']);
      expect(error?.message).toContain('LLM_API_KEY');
    }
  });

  it('gets a failure in the middle of a stream as an error', async () => {
    model.enqueue({ fault: 'cut', text: 'Once upon' });
    const stream = await client().chat.completions.create({ ...ask('Tell'), stream: true });
    let text = '';
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    };
    const error = await refusal(read());
    expect(text).toBe('Once upon');
    expect(error?.message).toMatch(/broke off/);
  });

  it('ends the work when it leaves', async () => {
    model.enqueue({ fault: 'stall', text: 'Wait' });
    const stream = await client().chat.completions.create({ ...ask('Hi'), stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    if (service !== 'switchboard') await expect.poll(() => model.requests.at(-1)?.abandoned).toBe(true);
    model.release();
  });

  it.each([
    [{ messages: [] }, /messages/],
    [{ messages: [{ role: 'user', content: 'x' }], n: 2 }, /only one choice/],
    [{ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, /input_audio/],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      /image_url/,
    ],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://127.0.0.1/' } }] },
        ],
      },
      /image_url/,
    ],
  ])('is refused %j', async (body, words) => {
    const error = await refusal(create({ model: name, ...body }));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect([error?.type, error?.message]).toEqual(['invalid_request_error', expect.stringMatching(words)]);
  });

  it('sends an image where the service can carry one, and is refused otherwise', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const image = { type: 'image_url', image_url: { url } };
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }];
    model.enqueue('A cat.');
    if (service !== 'agent') {
      const error = await refusal(create({ model: name, messages }));
      return expect([error?.status, error?.message]).toEqual([400, expect.stringContaining('image_url')]);
    }
    expect((await create({ model: name, messages })).choices[0]?.message.content).toBe('A cat.');
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url } },
    ]);
  });

  it('is refused with a wrong key', async () => {
    expect(await refusal(client('wrong').models.list())).toBeInstanceOf(OpenAI.AuthenticationError);
    const error = await refusal(client('wrong').chat.completions.create(ask('Hi')));
    expect([error?.status, error?.type]).toEqual([401, 'authentication_error']);
  });

  it('is told that a model does not exist, unless every name stands for the agent', async () => {
    const body = { model: 'nobody', messages: [{ role: 'user', content: 'Hi' }] };
    model.enqueue('I am it.');
    if (service === 'agent') {
      expect((await create(body)).choices[0]?.message.content).toBe('I am it.');
      return expect((await client().models.retrieve('gpt')).id).toBe('gpt');
    }
    for (const ask of [
      () => create(body),
      () => client().models.retrieve('nobody'),
      () => client().models.retrieve('constructor'),
    ])
      expect(await refusal(ask())).toBeInstanceOf(OpenAI.NotFoundError);
  });

  it('may leave out the model where there is a default', async () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    model.enqueue('Here.');
    if (service === 'research') {
      const error = await refusal(create({ messages }));
      return expect([error?.status, error?.message]).toEqual([400, expect.stringContaining('research-chat')]);
    }
    expect(await create({ messages })).toMatchObject({ model: name });
  });
});
