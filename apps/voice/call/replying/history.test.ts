import { createModelGateway } from '@trunkline/llm';
import { markOf, originsIn } from '@trunkline/loop';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openVoiceDatabase } from '../../store/database.ts';
import type { Model, ModelMessage, ModelMessages } from '../../turn/persona.ts';
import { History, Memory } from './history.ts';
import { ReplyTranscript } from './reply-transcript.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function summariser(text: string | undefined): Model {
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'test',
    supportedUrls: {},
    async doGenerate() {
      if (text === undefined) throw new Error('out of order');
      return {
        content: [{ type: 'text', text }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage,
        warnings: [],
      };
    },
    doStream: () => Promise.reject(new Error('not asked')),
  };
}

const drop = () => undefined;
const logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => logger };

function open(summary: string | undefined, earlier: ModelMessages = [], model?: Model) {
  let kept: ModelMessages = [];
  const history = new History({
    earlier,
    model,
    summariser: () => summariser(summary),
    store: (messages) => {
      kept = messages;
    },
    logger,
  });
  return { history, kept: () => kept };
}

function openMemory(limitBytes = 0) {
  const { path, remove } = temporaryDirectory();
  const database = openVoiceDatabase(path);
  onTestFinished(() => {
    database.close();
    remove();
  });
  return { database, memory: new Memory(database, limitBytes) };
}

const turn = (number: number): ModelMessage[] => [
  { role: 'user', content: `Question ${number} ${'about this and that '.repeat(20)}` },
  { role: 'assistant', content: `Answer ${number} ${'which is long enough '.repeat(20)}` },
];

const numbered = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => turn(first + index)).flat();

describe('the conversation', () => {
  it('keeps the origins and addresses of what it forgets, away from the words of the user', () => {
    const { history } = open(undefined);
    const page = [{ kind: 'fetch_url', source: 'https://outside.example' }];
    history.add([
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: 'It says so at https://own.example/a.', ...markOf(page) },
    ]);
    for (let number = 1; number <= 50; number += 1) history.add(turn(number));
    expect(JSON.stringify(history.messages)).not.toContain('It says so');
    expect(JSON.stringify(history.messages)).toContain('https://own.example/a');
    expect(originsIn(history.messages)).toEqual(page);
    expect(originsIn(history.messages.filter(({ role }) => role === 'user'))).toEqual([]);
  });

  it('is summarised by the model when it grows, and goes on meanwhile', async () => {
    const { history, kept } = open('They spoke of many things.');
    for (let number = 1; number <= 40; number += 1) history.add(turn(number));
    await waitFor(() => JSON.stringify(kept()[0]).includes('They spoke of many things.'));
    expect(JSON.stringify(history.messages)).toContain('Answer 40');
    expect(JSON.stringify(history.messages)).not.toContain('Question 2 ');
    expect(kept()).toEqual(history.messages);
  });

  it('is summarised earlier where the model takes little at a time', async () => {
    const profiles = () => ({ contextTokens: 1024 });
    const gateway = createModelGateway({ url: 'http://127.0.0.1:1/v1', model: 'small', profiles });
    const { history } = open('They spoke briefly.', [], gateway.languageModel());
    for (let number = 1; number <= 5; number += 1) history.add(turn(number));
    await waitFor(() => JSON.stringify(history.messages[0]).includes('They spoke briefly.'));
  });

  it('is summarised also when it consists of many short sentences', async () => {
    const { history } = open('They counted.');
    for (let number = 1; number <= 60; number += 1) {
      history.add([
        { role: 'user', content: `And ${number}?` },
        { role: 'assistant', content: 'Yes.' },
      ]);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    expect(JSON.stringify(history.messages[0])).toContain('They counted.');
    expect(history.messages.at(-2)?.content).toBe('And 60?');
  });

  it('loses nothing of what is said while a late summary is written', async () => {
    const { history } = open('They spoke of many things.');
    const long = Array.from({ length: 40 }, (_, index) => turn(index + 1)).flat();
    history.add(long);
    history.add(turn(41));
    history.add(turn(42));
    await waitFor(() => JSON.stringify(history.messages[0]).includes('They spoke of many things.'));
    expect(history.messages.slice(-4)).toEqual([...turn(41), ...turn(42)]);
  });

  it('stays bounded when no summary can be had', async () => {
    const { history } = open(undefined);
    for (let number = 1; number <= 300; number += 1) history.add(turn(number));
    expect(history.messages.length).toBeLessThanOrEqual(80);
    expect(history.messages[0]?.role).toBe('user');
  });

  it('is kept for each user and skill', () => {
    const { database, memory } = openMemory();
    memory.store('ada', 'chef', turn(1));
    memory.store('ada', 'chef', turn(2));
    memory.store('ben', 'chef', turn(3));
    expect(new Memory(database).recall('ada', 'chef')).toEqual(turn(2));
    expect(memory.recall('ben', 'chef')).toEqual(turn(3));
    expect(memory.recall('ada', 'default')).toEqual([]);
  });

  it('is forgotten when two thousand others were held since', () => {
    const { database, memory } = openMemory();
    memory.store('old', 'chef', turn(1));
    database.exec('UPDATE memories SET updated_at = 1');
    for (let number = 1; number < 2000; number += 1) memory.store(`user-${number}`, 'chef', turn(2));
    expect(memory.recall('old', 'chef')).toEqual(turn(1));
    memory.store('one more', 'chef', turn(3));
    expect(memory.recall('old', 'chef')).toEqual([]);
    expect(memory.recall('user-1', 'chef')).toEqual(turn(2));
    for (const skill of ['sage', 'guide', 'poet']) memory.store('one more', skill, turn(4));
    expect(memory.recall('user-1', 'chef')).toEqual(turn(2));
    const own = ['chef', 'sage', 'guide', 'poet'].map((skill) => memory.recall('one more', skill).length);
    expect(own).toEqual([0, 0, 0, 2]);
  });

  it('takes the room of its own user: the oldest of theirs go, and too long a one keeps its end', () => {
    const { database, memory } = openMemory(2 * JSON.stringify(turn(1)).length + 200);
    memory.store('ben', 'chef', turn(1));
    for (const [index, skill] of ['chef', 'sage', 'poet'].entries()) {
      memory.store('ada', skill, turn(index));
      database.exec(`UPDATE memories SET updated_at = ${index} WHERE skill = '${skill}'`);
    }
    expect(memory.recall('ben', 'chef')).toEqual(turn(1));
    expect(['chef', 'sage', 'poet'].map((skill) => memory.recall('ada', skill))).toEqual([
      [],
      turn(1),
      turn(2),
    ]);
    memory.store('ada', 'poet', numbered(1, 8));
    expect(memory.recall('ada', 'poet')).toMatchObject(numbered(7, 8));
    expect(memory.recall('ada', 'sage')).toEqual([]);
  });
});

describe('an answer with tools', () => {
  it('keeps what was heard of its texts, and every call with its result', () => {
    const script = new ReplyTranscript();
    script.addText('Let me look.');
    script.addCall('1', 'search', { query: 'x' });
    script.addCall('2', 'clock', {});
    script.addResult('2', 'noon');
    script.addResult('1', 'found');
    script.addText('\n\nIt is under the sofa.');
    const results = (messages: ModelMessage[]) =>
      JSON.stringify(messages.filter(({ role }) => role === 'tool'));
    expect(script.messages(script.text.length)).toMatchObject([
      { role: 'assistant', content: [{ type: 'text', text: 'Let me look.' }, {}, {}] },
      { role: 'tool', content: [{ toolCallId: '1' }, { toolCallId: '2' }] },
      { role: 'assistant', content: 'It is under the sofa.' },
    ]);
    expect(script.messages(16).at(-1)).toMatchObject({ role: 'assistant', content: 'It' });
    expect(script.messages(5)).toHaveLength(2);
    expect(results(script.messages(0))).toContain('found');
  });

  it('says of a tool that was stopped that it was', () => {
    const script = new ReplyTranscript();
    script.addCall('1', 'search', {});
    expect([script.hasResults, script.openCalls]).toMatchObject([false, [{ name: 'search' }]]);
    expect(JSON.stringify(script.messages(0))).toContain('the user went on');
  });
});
