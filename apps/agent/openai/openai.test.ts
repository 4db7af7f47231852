import { type ModelServer, startModelServer } from '@trunkline/testing';
import OpenAI, { type APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

describe("OpenAI's own client against /v1 [A129]", () => {
  let model: ModelServer;
  let agent: TestAgent;
  let client: OpenAI;

  beforeAll(async () => {
    model = await startModelServer();
    const env = { ...modelEnvironment(model.url), A2A_AUTH_TOKEN: 'secret-token' };
    agent = await startAgent({ env, config: 'subagents: []\n' });
    client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'secret-token', maxRetries: 0 });
  });
  afterAll(async () => {
    await agent.stop();
    await model.stop();
  });

  const ask = (content: string) => ({
    model: 'trunkline-agent',
    messages: [{ role: 'user' as const, content }],
  });

  it('lists the agent as a model', async () => {
    const names = [];
    for await (const listed of client.models.list()) names.push(listed.id);
    expect(names).toEqual(['trunkline-agent']);
    expect((await client.models.retrieve('trunkline-agent')).id).toBe('trunkline-agent');
  });

  it('answers as one document, with the tools of the agent run on the way and all usage', async () => {
    model.enqueue(
      {
        toolCalls: [{ name: 'calculator', arguments: { expression: '2+2' } }],
        usage: { input: 5, output: 5 },
      },
      { text: 'Four.', usage: { input: 10, output: 2 } },
    );
    const answer = await client.chat.completions.create({
      ...ask('2+2?'),
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: '2+2?' }] },
      ],
    });
    expect(answer.choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'Four.' },
      finish_reason: 'stop',
    });
    expect(answer.usage).toEqual({ prompt_tokens: 15, completion_tokens: 7, total_tokens: 22 });
    expect(JSON.stringify(model.chats().at(-1)?.messages[0])).toContain('Be brief.');
  });

  it('streams tokens while the model is still speaking, then usage', async () => {
    model.enqueue({ fault: 'stall', text: 'Hello there', answer: ', friend.' });
    const stream = await client.chat.completions.create({
      ...ask('Hi'),
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let usage: unknown;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
      // The rest comes only after these words have arrived here.
      if (text === 'Hello there') model.release();
    }
    expect(text).toBe('Hello there, friend.');
    expect(usage).toMatchObject({ total_tokens: expect.any(Number) });
  });

  it("hands the caller's own tools back to it and takes their results", async () => {
    const tools = [
      {
        type: 'function' as const,
        function: {
          name: 'weather',
          description: 'Weather of a city',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ];
    const toolCalls = [{ id: 'call_7', name: 'weather', arguments: { city: 'Bern' } }];
    model.enqueue({ text: 'I look.', toolCalls }, { toolCalls }, 'Sunny in Bern.');
    const first = await client.chat.completions.create({ ...ask('Weather in Bern?'), tools });
    expect(first.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'I look.',
        tool_calls: [
          { id: 'call_7', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } },
        ],
      },
    });
    const offered = model
      .chats()
      .at(-1)
      ?.tools?.find(({ function: { name } }) => name === 'weather');
    expect(offered?.function.parameters).toMatchObject({ properties: { city: { type: 'string' } } });
    expect(
      model
        .chats()
        .at(-1)
        ?.tools?.map(({ function: { name } }) => name),
    ).not.toContain('ask_human');

    const stream = client.chat.completions.stream({ ...ask('Weather in Bern?'), tools });
    const streamed = await stream.finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({ id: 'call_7' });

    const second = await client.chat.completions.create({
      model: 'trunkline-agent',
      tools,
      messages: [
        { role: 'user', content: 'Weather in Bern?' },
        first.choices[0]?.message as OpenAI.ChatCompletionAssistantMessageParam,
        { role: 'tool', tool_call_id: 'call_7', content: 'sun' },
      ],
    });
    expect(second.choices[0]?.message.content).toBe('Sunny in Bern.');
    expect(model.chats().at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'sun' });
  });

  it('passes settings and a forced tool on to the model, the tool once', async () => {
    model.enqueue({ toolCalls: [{ name: 'calculator', arguments: { expression: '1' } }] }, '{"n":1}');
    await client.chat.completions.create({
      ...ask('Count'),
      temperature: 0.1,
      max_tokens: 50,
      stop: ['END'],
      tools: [],
      tool_choice: { type: 'function', function: { name: 'calculator' } },
      response_format: { type: 'json_object' },
    });
    const [first, second] = model.chats().slice(-2);
    expect(first).toMatchObject({ temperature: 0.1, max_tokens: 50, stop: ['END'] });
    expect(first).toMatchObject({ response_format: { type: 'json_object' } });
    expect(first?.tool_choice).toEqual({ type: 'function', function: { name: 'calculator' } });
    expect(second?.tool_choice).toBe('auto');
  });

  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error as APIError,
    );

  it('mirrors 429 and answers 502 for other failures, in the form of OpenAI', async () => {
    const limited = { fault: 'status', status: 429, retryAfter: '0' } as const;
    model.enqueue(limited, limited, limited);
    const first = await refusal(client.chat.completions.create(ask('Hi')));
    expect(first).toBeInstanceOf(OpenAI.RateLimitError);
    model.enqueue({ fault: 'status', status: 429, retryAfter: '300' });
    const long = await refusal(client.chat.completions.create({ ...ask('Hi'), stream: true }));
    expect([long?.status, long?.headers?.get('retry-after')]).toEqual([429, '300']);
    model.enqueue({ fault: 'status', status: 401 });
    const second = await refusal(client.chat.completions.create({ ...ask('Hi'), stream: true }));
    expect([second?.status, second?.type]).toEqual([502, 'upstream_error']);
    expect(second?.message).toContain('LLM_API_KEY');
  });

  it('tells a failure in the middle of a stream', async () => {
    model.enqueue({ fault: 'cut', text: 'Once upon' });
    const stream = await client.chat.completions.create({ ...ask('Tell'), stream: true });
    let text = '';
    const failure = await refusal(
      (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      })(),
    );
    expect(text).toBe('Once upon');
    expect(failure?.message).toMatch(/broke off/);
  });

  it.each([
    [{ messages: [] }, /messages/],
    [{ messages: [{ role: 'user', content: 'x' }], n: 2 }, /only one choice/],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      /image_url/,
    ],
    [{ messages: [{ role: 'tool', tool_call_id: 'call_0', content: 'x' }] }, /call_0/],
  ])('refuses %j', async (body, words) => {
    const headers = { authorization: 'Bearer secret-token', 'content-type': 'application/json' };
    const response = await agent.fetch('/v1/chat/completions', { ...post(body), headers });
    const answer = (await response.json()) as { error: { message: string; type: string } };
    expect([response.status, answer.error.type]).toEqual([400, 'invalid_request_error']);
    expect(answer.error.message).toMatch(words);
  });

  it('refuses a wrong key as OpenAI does', async () => {
    const stranger = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'wrong', maxRetries: 0 });
    expect(await refusal(stranger.chat.completions.create(ask('Hi')))).toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
  });

  it('stops the turn when the caller leaves', async () => {
    model.enqueue({ fault: 'stall', text: 'Wait' });
    const stream = await client.chat.completions.create({ ...ask('Hi'), stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await expect.poll(() => model.requests.at(-1)?.abandoned).toBe(true);
  });
});
