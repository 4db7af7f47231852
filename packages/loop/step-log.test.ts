import { defineTool, type Tool } from '@trunkline/llm';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TurnFiles } from './content/content.ts';
import type { RunTurnOptions, Step, StepLog, TurnPolicy } from './options.ts';
import { StepConflictError, StepReadError, stepsBefore } from './step-log.ts';
import {
  calling,
  collect,
  ended,
  failed,
  limits,
  paused,
  resultsOf,
  serve,
  stopServersAfterEach,
  turnOptions,
} from './turn.suite.ts';
import { resumeTurn, runTurn } from './turn.ts';

stopServersAfterEach();

/** Steps in memory, as they would be on disk: nothing but their JSON is kept. */
class MemoryLog implements StepLog {
  readonly batches: string[] = [];

  async read(): Promise<Step[]> {
    return this.batches.flatMap((batch) => JSON.parse(batch) as Step[]);
  }

  async append(_turn: string, position: number, steps: readonly Step[]): Promise<void> {
    if ((await this.read()).length !== position) throw new StepConflictError('There are other steps.');
    this.batches.push(JSON.stringify(steps));
  }
}

/** Ends a turn at once; a store that merely fails would not. */
class Killed extends StepConflictError {}

/** A turn that sends a mail and notes the time; it is killed where `killAt` names the tool. */
function createWork(
  more: {
    policy?: TurnPolicy;
    looks?: Partial<Tool>;
    sends?: Partial<Tool>;
    answer?: string;
    sameIds?: true;
  } = {},
) {
  const log = new MemoryLog();
  const runs: string[] = [];
  const keys: (string | undefined)[] = [];
  const asked: string[] = [];
  let killAt: string | undefined;
  /** After a kill nothing is stored any more. */
  let isDead = false;
  const port: StepLog = {
    read: () => log.read(),
    append: async (...given) => {
      if (isDead) throw new Killed();
      await log.append(...given);
    },
  };
  const tool = (name: string, effects: Tool['effects'], extra: Partial<Tool> = {}) =>
    ({
      ...defineTool({
        name,
        effects,
        description: name,
        input: z.object({}),
        execute: async (_input, { idempotencyKey }) => {
          runs.push(name);
          keys.push(idempotencyKey);
          if (killAt === name) {
            isDead = true;
            throw new Killed();
          }
          return `${name} done`;
        },
      }),
      ...extra,
    }) as Tool;
  const tools = [tool('look', ['reads'], more.looks), tool('send', ['sends'], more.sends)];
  const policy: TurnPolicy = {
    agent: 'test',
    decide: () => ({ decision: 'allow', rule: 'rules[0]', why: 'it may' }),
    ...more.policy,
  };
  const start = async (kill?: string, turn: Partial<RunTurnOptions> = {}) => {
    const server = await serve(({ messages }) => {
      const done = messages.filter(({ role }) => role === 'tool').length;
      asked.push(`call ${done + 1}`);
      if (done === 0) return { text: more.answer ?? 'I look.', ...calling(['look', {}]) };
      if (done > 1) return 'All is sent.';
      const send = { id: 'same', name: 'send', arguments: {} };
      return more.sameIds ? { toolCalls: [send, send] } : calling(['send', {}]);
    });
    killAt = kill;
    isDead = false;
    const options = turnOptions(server, {
      tools,
      policy,
      steps: { log: port, turn: 'turn-1', resumes: log.batches.length > 0 },
      ...turn,
    });
    const run = (events: ReturnType<typeof runTurn>) =>
      collect(events).catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
        return [];
      });
    return { options, server, events: await run(runTurn(options)) };
  };
  return { start, log, runs, asked, keys };
}

describe('a turn with a log of its steps', () => {
  it('knows after a kill what it has read from outside', async () => {
    const known: unknown[] = [];
    const policy: TurnPolicy = {
      agent: 'test',
      decide({ tool, origins }) {
        if (tool === 'send') known.push(origins);
        return { decision: 'allow', rule: 'rules[0]', why: 'it may' };
      },
    };
    const { start } = createWork({ policy, looks: { external: true }, sends: { idempotent: true } });
    await start('send');
    const { events } = await start();
    const origins = [{ kind: 'look', source: '' }];
    expect(known).toEqual([origins, origins]);
    expect(ended(events.at(-1))).toMatchObject({ origins });
  });

  it('still shows the model after a kill what a person sent with an answer', async () => {
    const shown: string[] = [];
    const notKept = async () => {
      throw new Error('not to be read');
    };
    const files: TurnFiles = {
      content: async (id) => {
        shown.push(id);
        const file = { id, name: 'list.txt', mediaType: 'text/plain', size: 4 };
        const origins = [{ kind: 'file', source: 'list.txt' }];
        return { type: 'file', file, text: 'Milk', isWhole: true, origins };
      },
      read: notKept,
      describe: notKept,
      store: notKept,
    };
    const { start } = createWork({
      looks: {
        execute: async (_input, { show }) => {
          await show?.('file-1');
          return 'They sent a list.';
        },
      },
      sends: { idempotent: true },
    });
    await start('send', { files });
    const { events, server } = await start(undefined, { files });
    expect(shown).toEqual(['file-1']);
    expect(JSON.stringify(server.chats()[0]?.messages)).toContain('Milk');
    expect(ended(events.at(-1))).toMatchObject({ origins: [{ kind: 'file', source: 'list.txt' }] });
  });

  it('goes on behind what is done: no model call and no tool twice', async () => {
    const { start, runs, asked, log } = createWork({ sends: { idempotent: true } });
    await start('send');
    expect([runs, asked]).toEqual([
      ['look', 'send'],
      ['call 1', 'call 2'],
    ]);
    const { events } = await start();
    expect(runs).toEqual(['look', 'send', 'send']);
    expect(asked).toEqual(['call 1', 'call 2', 'call 3']);
    expect(ended(events.at(-1))).toMatchObject({ text: 'I look.\n\nAll is sent.', finishReason: 'stop' });
    expect(resultsOf(events)).toEqual([
      ['look', 'look done'],
      ['send', 'send done'],
    ]);
    expect(events.filter(({ type }) => type === 'tool-start')).toHaveLength(1);
    expect(events.find(({ type }) => type === 'tool-end')).toMatchObject({ name: 'look', replayed: true });
    // Once more, after its end: all of it is known.
    const again = await start();
    expect(asked).toHaveLength(3);
    expect(ended(again.events.at(-1)).messages).toEqual(ended(events.at(-1)).messages);
    expect((await log.read()).map(({ kind }) => kind)).toEqual([
      'model',
      'tool-end',
      'model',
      'tool-end',
      'model',
    ]);
  });

  it('gives a call the same key whenever it is made', async () => {
    const { start, keys } = createWork({ sends: { idempotent: 'by-key' } });
    await start('send');
    await start();
    expect(keys[2]).toBe(keys[1]);
    expect(new Set(keys).size).toBe(2);
    expect(keys[1]).toMatch(/^[0-9a-f]{32}$/);
  });

  it('tells calls with the same id apart', async () => {
    const { start, keys } = createWork({ sameIds: true });
    await start();
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(3);
  });

  it.each([{}, { idempotent: true, isOnce: () => true }])(
    'does not repeat a call whose end is not known where nobody can be asked, and says so (%o)',
    async (sends) => {
      const { start, runs } = createWork({ sends });
      await start('send');
      const { events } = await start();
      expect(runs).toEqual(['look', 'send']);
      expect(resultsOf(events)[1]?.[1]).toMatch(/^Error: send had begun when the service ended/);
      expect(ended(events.at(-1)).text).toContain('All is sent.');
    },
  );

  it('asks a person about it, whoever waits for the answer', async () => {
    for (const [answer, expected] of [
      ['once', ['look', 'send', 'send']],
      [{ refused: 'it was sent.' }, ['look', 'send']],
    ] as const) {
      const questions: string[] = [];
      const ask: TurnPolicy['ask'] = async ({ rule, why }) => {
        questions.push(`${rule}: ${why}`);
        return answer;
      };
      const { start, runs } = createWork({
        policy: { agent: 'test', decide: () => ({ decision: 'allow', rule: 'r', why: '' }), ask },
      });
      await start('send');
      await start();
      expect(questions).toEqual([expect.stringMatching(/^interrupted: send had begun/)]);
      expect(runs).toEqual(expected);
    }
  });

  it('pauses for that person where turns pause, and runs the call after a yes', async () => {
    const policy: TurnPolicy = {
      agent: 'test',
      decide: () => ({ decision: 'allow', rule: 'r', why: '' }),
      ask: 'pause',
    };
    const { start, runs } = createWork({ policy });
    await start('send');
    const { events, options } = await start();
    const pause = paused(events.at(-1));
    expect(pause.ask).toMatchObject({ rule: 'interrupted', isTaskOnly: true });
    expect(runs).toEqual(['look', 'send']);
    const { messages: _, steps: __, ...rest } = options;
    const checkpoint = JSON.parse(JSON.stringify(pause.checkpoint));
    const after = await collect(resumeTurn({ ...rest, checkpoint, answer: 'yes', approval: 'once' }));
    expect(runs).toEqual(['look', 'send', 'send']);
    ended(after.at(-1));
  });

  it.each<NonNullable<TurnPolicy['ask']>>(['pause', async () => 'once'])(
    'fails with words in place of a question where policy says so',
    async (ask) => {
      const { start, runs } = createWork({
        policy: {
          agent: 'test',
          decide: () => ({ decision: 'allow', rule: 'r', why: '' }),
          whenInterrupted: () => 'fail',
          ask,
        },
      });
      await start('send');
      const { events } = await start();
      expect(runs).toEqual(['look', 'send']);
      expect(resultsOf(events)[1]?.[1]).toMatch(/^Error: send had begun when the service ended/);
      ended(events.at(-1));
    },
  );

  it.each<[string, Partial<TurnPolicy>, string[]]>([
    ['nobody can be asked', {}, ['ask interrupted: nobody could be asked']],
    ['turns pause', { ask: 'pause' }, ['ask interrupted: waits for a person']],
    ['policy says so', { ask: 'pause', whenInterrupted: () => 'fail' }, ['deny interrupted: refused']],
    [
      'policy says so, and would have asked by another rule',
      {
        decide: () => ({ decision: 'ask', rule: 'r', why: '' }),
        ask: async () => 'once',
        whenInterrupted: () => 'fail',
      },
      ['deny interrupted: refused'],
    ],
    [
      'a person says no',
      { ask: async () => ({ refused: 'no.' }) },
      ['ask interrupted: refused by a person, or not answered in time'],
    ],
    ['a person says yes', { ask: async () => 'once' }, ['ask interrupted: done']],
  ])('writes a line into the audit log where %s', async (_, more, expected) => {
    const lines: string[] = [];
    const { start } = createWork({
      policy: {
        agent: 'test',
        decide: () => ({ decision: 'allow', rule: 'r', why: '' }),
        record: ({ request, decision, rule, result }) => {
          if (request.tool === 'send') lines.push(`${decision} ${rule}: ${result}`);
        },
        ...more,
      },
    });
    await start('send');
    await start();
    expect(lines).toEqual(expected);
  });

  it('trusts a key for as long as whoever gets it does', async () => {
    for (const [withinMs, expected] of [
      [60_000, 3],
      [-1, 2],
    ] as const) {
      const { start, runs } = createWork({ sends: { idempotent: { withinMs } } });
      await start('send');
      await start();
      expect(runs).toHaveLength(expected);
    }
  });

  it('ends when another process has stored steps of the same turn', async () => {
    const { start, log } = createWork();
    await log.append('turn-1', 0, []);
    log.batches[0] = JSON.stringify([{ kind: 'gap', at: 0, why: 'elsewhere' }]);
    await expect(start(undefined, { steps: { log, turn: 'turn-1', resumes: false } })).rejects.toThrow(
      StepConflictError,
    );
  });

  it('is left, with nothing stored of the call, when that is so for the turn of an agent that a tool has asked', async () => {
    const { start, log } = createWork({
      sends: {
        execute: async () => {
          throw new StepConflictError('elsewhere');
        },
      },
    });
    await expect(start()).rejects.toThrow('elsewhere');
    expect((await log.read()).map(({ kind }) => kind)).toEqual(['model', 'tool-end', 'model', 'tool-start']);
  });

  it('goes on when the store fails, says so once, and runs only what may be done twice', async () => {
    for (const [sends, expected] of [
      [{}, ['look']],
      [{ idempotent: true }, ['look', 'send']],
      // The key would be another one after a crash.
      [{ idempotent: 'by-key' }, ['look']],
      [{ idempotent: { withinMs: 60_000 } }, ['look']],
    ] as const) {
      const { start, runs } = createWork({ sends });
      const problems: unknown[] = [];
      const append = async () => {
        throw new Error('no room');
      };
      const onProblem = (error: unknown) => void problems.push(error);
      const log = { read: async () => [], append };
      const { events } = await start(undefined, { steps: { log, turn: 'turn-1', resumes: true, onProblem } });
      expect(ended(events.at(-1)).text).toContain('All is sent.');
      expect([runs, problems]).toEqual([expected, [new Error('no room')]]);
      const refused = 'Error: send was not run: the service could not store that it begins';
      expect(resultsOf(events)[1]?.[1]).toContain(runs.length === 1 ? refused : 'send done');
    }
  });

  it('does not begin anew when what it has done cannot be read', async () => {
    const { start, asked, log: own } = createWork();
    const read = async () => {
      throw new Error('no leader');
    };
    const log = { read, append: own.append.bind(own) };
    await expect(start(undefined, { steps: { log, turn: 'turn-1', resumes: true } })).rejects.toThrow(
      StepReadError,
    );
    expect(asked).toEqual([]);
  });

  it('says so when the steps of an earlier run were too large to be stored', async () => {
    const { start, log, asked, runs } = createWork({ answer: 'x'.repeat(300_000) });
    // A long answer takes a while on a busy machine.
    await start('send', { limits: { ...limits, turnTimeoutMs: 120_000 } });
    expect((await log.read()).map(({ kind }) => kind)).toEqual(['gap']);
    const before = [runs.length, asked.length];
    const { events } = await start();
    expect(failed(events.at(-1))).toMatchObject({
      code: 'steps-lost',
      message: expect.stringContaining('too large to be stored'),
    });
    expect([runs.length, asked.length]).toEqual(before);
  });

  it('stores nothing of a turn without tools', async () => {
    const { log } = createWork();
    const server = await serve(['Hello.']);
    const steps = { log, turn: 'turn-2', resumes: false };
    ended((await collect(runTurn(turnOptions(server, { steps })))).at(-1));
    expect(log.batches).toEqual([]);
  });
});

describe('a turn that is run again from a call on', () => {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const model = (steps: number, ...ids: string[]): Step => ({
    kind: 'model',
    at: 1,
    steps,
    messages: [],
    calls: ids.map((toolCallId) => ({ toolCallId, name: 'send', input: {} })),
    finishReason: 'other',
    usage,
    text: '',
  });
  const start = (call: string): Step => ({ kind: 'tool-start', at: 2, call, name: 'send' });
  const end = (call: string): Step => ({ kind: 'tool-end', at: 3, call, name: 'send', result: 'done' });
  const again = (call: string, at: number): Step => ({
    kind: 'tool-start',
    at,
    call,
    name: 'send',
    again: true,
  });
  const first = [model(1, 'a'), start('1:a'), end('1:a')];
  const asked = model(2, 'b', 'c', 'd');
  const steps = [
    ...first,
    asked,
    start('2:b'),
    start('2:c'),
    end('2:c'),
    end('2:b'),
    model(3, 'e'),
    end('3:e'),
  ];

  it('keeps what came before the call, and marks what has run from there on', () => {
    expect(stepsBefore(steps, 'c')).toEqual([...first, asked, start('2:b'), end('2:b'), again('2:c', 3)]);
    expect(stepsBefore(steps, 'b')).toEqual([...first, asked, again('2:b', 3), again('2:c', 3)]);
    expect(stepsBefore(steps, 'd')?.slice(first.length + 1)).toEqual(steps.slice(4, 8));
  });

  it('is not known where no answer of the model asked for the call', () => {
    expect(stepsBefore(steps, 'z')).toBeUndefined();
    expect(stepsBefore([], 'a')).toBeUndefined();
  });

  it('is not known where two answers of the model gave their calls one id', () => {
    const twice = steps.map((step) =>
      step.kind === 'model'
        ? { ...step, calls: step.calls.map((call) => ({ ...call, toolCallId: 'call_0' })) }
        : step,
    );
    expect(stepsBefore(twice, 'call_0')).toBeUndefined();
  });
});
