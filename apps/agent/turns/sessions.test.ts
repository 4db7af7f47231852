import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ModelServer,
  startModelServer,
  type TemporaryDirectory,
  temporaryDirectory,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

describe('sessions, skills and helpers', () => {
  let model: ModelServer;
  let home: TemporaryDirectory;
  let agent: TestAgent | undefined;

  beforeEach(async () => {
    home = temporaryDirectory();
    model = await startModelServer();
  });
  afterEach(async () => {
    await agent?.stop();
    await model.stop();
    home.remove();
  });

  const begin = async (config = '', env: Record<string, string> = {}) => {
    await agent?.stop();
    agent = await startAgent({ home: home.path, config, env: { ...modelEnvironment(model.url), ...env } });
    return agent;
  };
  const said = (index = -1) => JSON.stringify(model.chats().at(index)?.messages);
  /** What the model was told last of what people and tools said. */
  const dialogue = () =>
    (model.chats().at(-1)?.messages ?? []).flatMap(({ role, content }) =>
      role === 'system' || !content ? [] : [[role, content]],
    );

  it("ends waiting tasks at a restart where the contract's letter is wanted [A111]", async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Really?' } }] });
    const parked = await (await begin()).send('Go.');
    const { result } = await (await begin('', { CORE_PARKED_TASKS: 'fail' })).rpc('tasks/get', {
      id: parked.id,
    });
    expect([result.status.state, answerText(result)]).toEqual(['failed', 'interrupted by server restart']);
  });

  it('shows a form as the schema of its question and takes JSON as the answer [A076]', async () => {
    const steps = [{ schema: { type: 'object', properties: { city: { type: 'string' } } } }];
    model.enqueue(
      {
        toolCalls: [
          { name: 'request_user_input', arguments: { title: 'Trip', steps, description: 'Where to?' } },
        ],
      },
      'Off to Rome.',
    );
    const parked = await (await begin()).send('Book a trip.');
    expect(answerText(parked)).toBe('Trip\nWhere to?');
    expect(parked.status.message?.parts[1]?.data).toEqual({
      schema: { title: 'Trip', steps, description: 'Where to?' },
    });
    const done = await agent?.send('{"city":"Rome"}', { taskId: parked.id });
    expect(done?.status.state).toBe('completed');
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toBe('{"city":"Rome"}');
  });

  it('runs a command only after a plain yes', async () => {
    const running = await begin('filesystem: { run_command: true }');
    const ask = {
      toolCalls: [{ name: 'run_command', arguments: { command: 'echo made > proof.txt; cat proof.txt' } }],
    };
    model.enqueue(ask, 'Not run.', ask, 'Run.');
    const first = await running.send('Make a file.');
    expect(answerText(first)).toMatch(/May I run this command.*proof\.txt/s);
    await running.send('rather not', { taskId: first.id });
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toMatch(/^Error: the person did not approve/);
    const second = await running.send('Make a file.');
    const done = await running.send('yes', { taskId: second.id });
    expect(done.status.state).toBe('completed');
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toBe('made\n');
    expect(readFileSync(join(home.path, 'agent', 'workspace', 'proof.txt'), 'utf8')).toBe('made\n');
    const audit = readFileSync(join(home.path, 'agent', 'audit', 'audit.jsonl'), 'utf8');
    expect(audit).toContain('"tool":"run_command"');
  });

  it('asks two questions of one step one after the other', async () => {
    const toolCalls = ['First?', 'Second?'].map((question, index) => ({
      id: `call_${index}`,
      name: 'ask_human',
      arguments: { question },
    }));
    model.enqueue({ toolCalls }, 'Thanks.');
    const first = await (await begin()).send('Ask me twice.');
    const second = await agent?.send('one', { taskId: first.id });
    expect([answerText(first), second && answerText(second)]).toEqual(['First?', 'Second?']);
    const done = await agent?.send('two', { taskId: first.id });
    expect(done?.status.state).toBe('completed');
    expect(
      model
        .chats()
        .at(-1)
        ?.messages.slice(-2)
        .map(({ content }) => content),
    ).toEqual(['one', 'two']);
  });

  it('keeps what a context said while one of its tasks waited', async () => {
    model.enqueue(
      { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which?' } }] },
      'A side remark.',
      'The third.',
      'All of it.',
    );
    const parked = await (await begin()).send('Choose one.');
    await agent?.send('By the way.', { contextId: parked.contextId });
    await agent?.send('the third', { taskId: parked.id });
    await agent?.send('What did we say?', { contextId: parked.contextId });
    expect(dialogue()).toEqual([
      ['user', 'By the way.'],
      ['assistant', 'A side remark.'],
      ['user', 'Choose one.'],
      ['tool', 'the third'],
      ['assistant', 'The third.'],
      ['user', 'What did we say?'],
    ]);
  });

  it('keeps the request of each task that waits, whichever is answered first, also after a restart', async () => {
    const ask = (question: string) => ({ toolCalls: [{ name: 'ask_human', arguments: { question } }] });
    model.enqueue(ask('Which colour?'), ask('Which size?'), 'Large, then.', 'Red, then.', 'All of it.');
    const colour = await (await begin()).send('Choose a colour.');
    const { contextId } = colour;
    const size = await agent?.send('Choose a size.', { contextId });
    const again = await begin();
    await again.send('large', { taskId: size?.id });
    await again.send('red', { taskId: colour.id });
    await again.send('What did we say?', { contextId });
    expect(dialogue()).toEqual([
      ['user', 'Choose a size.'],
      ['tool', 'large'],
      ['assistant', 'Large, then.'],
      ['user', 'Choose a colour.'],
      ['tool', 'red'],
      ['assistant', 'Red, then.'],
      ['user', 'What did we say?'],
    ]);
  });

  it('runs turns of one context one after the other', async () => {
    model.enqueue({ fault: 'stall', text: 'One', answer: '.' }, 'Two.');
    const running = await begin();
    const first = running.send('first', { contextId: 'c' });
    await expect.poll(() => model.chats().length).toBe(1);
    const second = running.send('second', { contextId: 'c' });
    model.release();
    expect([answerText(await first), answerText(await second)]).toEqual(['One.', 'Two.']);
    expect(said()).toContain('One.');
  });

  it('cancels a running task at once and a waiting one for good [A109] [A110] [A134]', async () => {
    model.enqueue({ fault: 'stall', text: 'Long' });
    const running = await begin();
    const { result } = await running.rpc('message/send', {
      message: { role: 'user', parts: [{ kind: 'text', text: 'Go.' }] },
      configuration: { blocking: false },
    });
    await expect.poll(() => model.requests.at(-1)?.abandoned).toBe(false);
    const canceled = await running.rpc('tasks/cancel', { id: result.id });
    expect(canceled.result.status.state).toBe('canceled');
    await expect.poll(() => model.requests.at(-1)?.abandoned).toBe(true);
    const again = await running.rpc('tasks/cancel', { id: result.id });
    expect(again.result.status.state).toBe('canceled');
  });

  it('follows the skill that the metadata names, with its tools alone [A014]', async () => {
    const running = await begin();
    const folder = join(home.path, 'agent', 'config', 'skills', 'haiku');
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, 'SKILL.md'),
      '---\nname: haiku-writer\ndescription: Writes haiku\ntools: [calculator]\n---\nCount 5-7-5.\n',
    );
    model.enqueue('Done.', 'Done.');
    await running.send('Write.', {}, { metadata: { skill: 'haiku-writer' } });
    expect(said()).toContain('Count 5-7-5.');
    expect(
      model
        .chats()
        .at(-1)
        ?.tools?.map(({ function: { name } }) => name),
    ).toEqual(['calculator']);
    await running.send('Write.');
    expect(said()).not.toContain('Count 5-7-5.');
    const next = await begin();
    model.enqueue({ toolCalls: [{ name: 'load_skill', arguments: { name: 'haiku-writer' } }] }, 'Old pond.');
    await next.send('A haiku, please.');
    expect(said(-2)).toContain('haiku-writer: Writes haiku');
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toBe('Count 5-7-5.');
    const unknown = await next.send('Write.', {}, { metadata: { skill: 'nope' } });
    expect([unknown.status.state, answerText(unknown)]).toEqual([
      'failed',
      'There is no skill named "nope".',
    ]);
  });

  it('hands work to helpers who cannot ask anybody and have no helpers', async () => {
    const running = await begin('subagents: [{ name: digger, description: Digs }]');
    model.enqueue(
      {
        toolCalls: [
          {
            name: 'task_batch',
            arguments: {
              tasks: [
                { agent: 'digger', prompt: 'dig here' },
                { agent: 'nobody', prompt: 'dig there' },
              ],
            },
          },
        ],
      },
      'a hole',
      'All dug.',
    );
    const task = await running.send('Dig.');
    expect(answerText(task)).toBe('All dug.');
    const [lead, helper] = model.chats();
    const names = (chat: typeof lead) => chat?.tools?.map(({ function: { name } }) => name) ?? [];
    expect(names(lead)).toEqual(
      expect.arrayContaining(['ask_human', 'request_user_input', 'task', 'task_batch']),
    );
    expect(names(helper)).toContain('calculator');
    for (const name of ['ask_human', 'request_user_input', 'task', 'task_batch']) {
      expect(names(helper)).not.toContain(name);
    }
    expect(said()).toContain('[1] digger\\na hole');
    expect(said()).toContain('there is no helper named \\"nobody\\"');
    const write = { name: 'write_artifact', arguments: { name: 'hole.md', content: '# A hole' } };
    const order = { name: 'task', arguments: { agent: 'digger', prompt: 'draw it' } };
    model.enqueue({ toolCalls: [order] }, { toolCalls: [write] }, 'drawn', 'Here it is.');
    const drawn = await running.send('Draw it.');
    expect(drawn.artifacts?.flatMap(({ parts }) => parts)).toContainEqual(
      expect.objectContaining({ file: expect.objectContaining({ name: 'hole.md' }) }),
    );
    expect(said()).toContain('drawn\\n(The person was given hole.md.)');
  });

  it('remembers earlier sessions as summaries, in files too [A045]', async () => {
    model.enqueue('Noted: blue.', 'Hello again.');
    await (await begin()).send('My colour is blue.', { contextId: 'first/session' });
    const next = await begin();
    const file = join(home.path, 'agent', 'memory', 'first%2Fsession.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      session_id: 'first/session',
      trace_id: null,
      messages: [
        { role: 'user', content: 'My colour is blue.' },
        { role: 'assistant', content: 'Noted: blue.' },
      ],
      tool_calls: 0,
      final_output: 'Noted: blue.',
      timestamp: expect.any(String),
    });
    await next.send('Hello.');
    expect(said()).toContain('My colour is blue.');
  });

  it('reads but does not write summaries with CORE_DISABLE_MEMORY [A046]', async () => {
    model.enqueue('Noted.', 'Noted.', 'Hello.');
    await (await begin()).send('Old fact.', { contextId: 'old' });
    await (await begin('', { CORE_DISABLE_MEMORY: '1' })).send('New fact.', { contextId: 'new' });
    expect(said()).toContain('Old fact.');
    await (await begin()).send('Hello.');
    expect(said()).not.toContain('New fact.');
    expect(readdirSync(join(home.path, 'agent', 'memory'))).not.toContain('new.json');
  });

  it('puts older messages into a summary when the conversation grows too long', async () => {
    const running = await begin('compaction: { max_tokens: 1500, keep_messages: 2 }');
    model.enqueue('A long tale.', 'They spoke of X.', 'Short.');
    const { contextId } = await running.send(`Listen: ${'word '.repeat(1200)}`);
    await running.send('And now?', { contextId });
    expect(said()).toContain('Summary of the earlier conversation');
    expect(said()).toContain('They spoke of X.');
  });
});
