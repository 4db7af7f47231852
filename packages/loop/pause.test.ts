import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createModelGateway } from '@trunkline/llm';
import { startChild, temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ResumeTurnOptions, TurnEvent } from './options.ts';
import {
  add,
  askHuman,
  calling,
  collect,
  ended,
  failed,
  limits,
  paused,
  play,
  resultsOf,
  stopServersAfterEach,
  toolMessages,
  turnOptions,
} from './turn.suite.ts';
import { resumeTurn, runTurn } from './turn.ts';

stopServersAfterEach();

const tools = [add, askHuman];
const asking = (question: string): [string, unknown] => ['ask_human', { question }];

async function resume(
  played: Awaited<ReturnType<typeof play>>,
  checkpoint: unknown,
  answer: string,
  more: Partial<ResumeTurnOptions> = {},
) {
  const { messages: _, ...options } = turnOptions(played.server, { tools });
  const events = await collect(resumeTurn({ ...options, checkpoint, answer, ...more }));
  return { events, last: events.at(-1) };
}

describe('pause', () => {
  it('waits for an answer after the other calls of the step have finished', async () => {
    const played = await play(
      [
        {
          text: 'I must ask.',
          ...calling(asking('Which colour?'), ['add', { left: 1 }]),
          usage: { input: 7, output: 3 },
        },
        'Blue it is.',
      ],
      { tools },
    );
    const pause = paused(played.last);
    expect(resultsOf(played.events)).toEqual([['add', '2']]);
    expect(pause).toMatchObject({
      name: 'ask_human',
      question: 'Which colour?',
      text: 'I must ask.',
      usage: { totalTokens: 10 },
    });
    expect(pause.checkpoint).toMatchObject({
      version: 1,
      steps: 1,
      calls: [{ name: 'ask_human' }, { name: 'add', result: '2' }],
    });
  });

  it('goes on with the answer as the result of the call', async () => {
    const played = await play([calling(asking('Which colour?')), 'Blue it is.'], { tools });
    const { events, last } = await resume(played, paused(played.last).checkpoint, 'blue');
    expect(played.server.chats()[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'blue' });
    expect(ended(last)).toMatchObject({ text: 'Blue it is.', finishReason: 'stop' });
    expect(events.some(({ type }) => type === 'tool-start')).toBe(false);
  });

  it('drains two questions one by one, without asking the model in between', async () => {
    const played = await play(
      [calling(asking('First?'), ['add', { left: 4 }], asking('Second?')), 'Thanks.'],
      { tools },
    );
    const first = paused(played.last);
    const second = paused((await resume(played, first.checkpoint, 'one')).last);
    expect([first.question, second.question]).toEqual(['First?', 'Second?']);
    expect(played.server.chats()).toHaveLength(1);
    expect(ended((await resume(played, second.checkpoint, 'two')).last).text).toBe('Thanks.');
    expect(toolMessages(played.server)).toEqual(['one', '5', 'two']);
  });

  it('counts steps and usage from the start of the turn', async () => {
    const step = { ...calling(asking('Go on?')), usage: { input: 30, output: 20 } };
    const played = await play(() => step, { tools });
    const { last } = await resume(played, paused(played.last).checkpoint, 'yes', {
      limits: { ...limits, steps: 1 },
    });
    expect(last).toMatchObject({ finishReason: 'steps', usage: { totalTokens: 50 } });
    const budget = await resume(played, paused(played.last).checkpoint, 'yes', {
      limits: { ...limits, tokens: 50 },
    });
    expect(budget.last).toMatchObject({ finishReason: 'budget' });
  });

  it('does not pause for a question that is malformed', async () => {
    const { last, events } = await play([calling(['ask_human', { text: 'no question' }]), 'Sorry.'], {
      tools,
    });
    expect(ended(last).text).toBe('Sorry.');
    expect(resultsOf(events)[0]?.[1]).toContain('the arguments for ask_human do not fit');
  });

  it('shows the title of a form, and its description', async () => {
    const form = {
      name: 'request_user_input',
      description: 'Form',
      input: z.unknown(),
      pause: true as const,
      effects: ['reads'] as const,
    };
    const input = { title: 'Trip', description: 'Where to?', steps: [] };
    const { last } = await play([calling(['request_user_input', input])], { tools: [form] });
    expect(paused(last)).toMatchObject({ question: 'Trip\nWhere to?', input });
  });

  it('can be aborted when it is resumed', async () => {
    const played = await play([calling(asking('Well?')), 'Never said.'], { tools });
    const { last } = await resume(played, paused(played.last).checkpoint, 'yes', {
      signal: AbortSignal.abort(),
    });
    expect(failed(last).code).toBe('aborted');
    expect(failed(last).messages.at(-1)).toMatchObject({ role: 'tool' });
  });
});

describe('a checkpoint', () => {
  it('is plain JSON: it comes back from storage exactly as it was', async () => {
    const picture = { type: 'file' as const, mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) };
    const messages = [
      {
        role: 'user' as const,
        content: [{ type: 'text' as const, text: 'Look', providerOptions: {} }, picture],
      },
    ];
    const played = await play([{ reasoning: 'Hm.', text: 'Which?', ...calling(asking('This?')) }, 'Right.'], {
      tools,
      messages,
    });
    const { checkpoint } = paused(played.last);
    expect(JSON.parse(JSON.stringify(checkpoint))).toStrictEqual(checkpoint);
    const { last } = await resume(played, JSON.parse(JSON.stringify(checkpoint)), 'yes');
    expect(ended(last).text).toBe('Right.');
    expect(JSON.stringify(played.server.chats()[1]?.messages)).toContain('data:image/png;base64,AQID');
  });

  it.each([
    ['of a later version', (good: object) => ({ ...good, version: 2 }), 'version 2'],
    ['without a version', () => ({}), 'version none'],
    ['that is no object', () => null, 'version none'],
    ['that is damaged', (good: object) => ({ ...good, messages: [{ role: 'nobody' }] }), 'damaged'],
    ['without calls', (good: object) => ({ ...good, calls: [] }), 'damaged'],
  ])('%s is refused in words', async (_, spoil, words) => {
    const played = await play([calling(asking('Well?'))], { tools });
    const { events } = await resume(played, spoil(paused(played.last).checkpoint), 'yes');
    expect(events).toMatchObject([
      { type: 'error', code: 'bad-checkpoint', message: expect.stringContaining(words) },
    ]);
    expect(played.server.chats()).toHaveLength(1);
  });
});

it('resumes in another process from what was stored on disk', async () => {
  const played = await play(
    [
      calling(asking('Which colour?'), ['add', { left: 40, right: 2 }]),
      calling(['shout', { text: 'blue' }]),
      'BLUE it is, and 42.',
    ],
    { tools },
  );
  const directory = temporaryDirectory();
  try {
    const file = join(directory.path, 'checkpoint.json');
    writeFileSync(file, JSON.stringify(paused(played.last).checkpoint));
    const child = startChild(new URL('./resume.suite.ts', import.meta.url), {
      arguments: [file, 'blue', played.server.url],
    });
    const { code } = await child.exited;
    const events = child
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TurnEvent);
    expect(code, child.output()).toBe(0);
    expect(resultsOf(events)).toEqual([['shout', 'BLUE']]);
    expect(ended(events.at(-1)).text).toBe('BLUE it is, and 42.');
    expect(toolMessages(played.server)).toEqual(['blue', '42', 'BLUE']);
  } finally {
    directory.remove();
  }
});

it('pauses and resumes with the demo model', async () => {
  const options = {
    model: createModelGateway({}).languageModel(),
    instructions: '',
    tools,
    limits,
    sessionId: 's',
  };
  const first = await collect(
    runTurn({ ...options, messages: [{ role: 'user', content: 'Ask me which colour I like' }] }),
  );
  const { checkpoint, question } = paused(first.at(-1));
  expect(question).toContain('which colour you like');
  const second = await collect(resumeTurn({ ...options, checkpoint, answer: 'green' }));
  expect(ended(second.at(-1)).text).toContain('You answered: "green".');
});
