import { describe, expect, it, onTestFinished } from 'vitest';
import { coughOf } from '../cases/harness/code.suite.ts';
import { Stage, type StageSetup } from '../cases/harness/stage.suite.ts';
import {
  type CallEvent,
  type CallState,
  states,
  transition,
  transitions,
  type UserTurn,
} from './call-state.ts';
import type { Reply } from './replying/reply.ts';

const userTurn: UserTurn = {
  saidAt: 1,
  startedAt: 1,
  announced: false,
  falseInterruption: false,
  answers: false,
  transcribedAt: undefined,
};
const reply = { text: 'hello' } as Reply;
const events = Object.keys(transitions) as CallEvent['type'][];
const all: CallState[] = [
  { name: 'idle', since: 0 },
  { name: 'listening', userTurn },
  { name: 'endpointing', userTurn },
  { name: 'thinking', reply, overlap: undefined },
  { name: 'speaking', reply, overlap: userTurn },
  { name: 'paused', reply, overlap: userTurn, resumeTo: 'speaking' },
];

function eventOf(type: CallEvent['type']): CallEvent {
  if (type === 'reply-started') return { type, reply };
  return type === 'user-speaking' || type === 'user-silent' || type === 'interrupted'
    ? { type, userTurn }
    : { type };
}

function run(state: CallState, ...types: CallEvent['type'][]): CallState {
  return types.reduce((now, type) => transition(now, eventOf(type), 42), state);
}

describe('the state of a call', () => {
  it('follows this table', () => {
    const rows = [['event', ...states], ...events.map((event) => [event, ...transitions[event]])];
    const table = rows
      .map((row) =>
        row
          .map((cell) => cell.padEnd(22))
          .join('')
          .trimEnd(),
      )
      .join('\n');
    console.log(table);
    expect(`\n${table}\n`).toMatchInlineSnapshot(`
      "
      event                 idle                  listening             endpointing           thinking              speaking              paused
      user-speaking         listening             listening             listening             thinking              speaking              paused
      user-silent           endpointing           endpointing           endpointing           thinking              speaking              paused
      user-turn-ended       idle                  idle                  idle                  thinking              speaking              paused
      reply-started         thinking              thinking              thinking              thinking              speaking              paused
      utterance-queued      thinking              thinking              thinking              thinking              speaking              paused
      playout-started       idle                  listening             endpointing           speaking              speaking              paused
      playout-finished      idle                  listening             endpointing           thinking              thinking              paused
      reply-finished        idle                  listening             endpointing           thinking              speaking              paused
      bot-turn-finished     idle                  listening             endpointing           idle                  idle                  idle
      possible-interruption idle                  listening             endpointing           paused                paused                paused
      false-interruption    idle                  listening             endpointing           thinking              speaking              resume
      interrupted           listening             listening             listening             listening             listening             listening
      cancelled             idle                  idle                  idle                  idle                  idle                  idle
      "
    `);
  });

  it('is defined for every event in every state', () => {
    for (const state of all)
      for (const [index, event] of events.entries())
        expect(states, `${state.name} + ${events[index]}`).toContain(run(state, event).name);
  });

  it('can reach every state from idle, and idle from every state', () => {
    const reached = new Set<CallState['name']>();
    const visit = (state: CallState) => {
      if (reached.has(state.name)) return;
      reached.add(state.name);
      for (const event of events) visit(run(state, event));
    };
    visit({ name: 'idle', since: 0 });
    expect([...reached].toSorted()).toEqual([...states].toSorted());
    for (const state of all) expect(run(state, 'cancelled')).toEqual({ name: 'idle', since: 42 });
  });

  it('carries what the caller says through the bot’s turn', () => {
    const speaking: CallState = { name: 'speaking', reply, overlap: undefined };
    expect(run(speaking, 'user-speaking')).toEqual({ name: 'speaking', reply, overlap: userTurn });
    expect(run(speaking, 'user-speaking', 'user-turn-ended')).toEqual(speaking);
    expect(run(speaking, 'user-speaking', 'interrupted')).toEqual({ name: 'listening', userTurn });
  });

  it('resumes what it was before a false interruption', () => {
    for (const name of ['thinking', 'speaking'] as const) {
      const state: CallState = { name, reply, overlap: userTurn };
      expect(run(state, 'possible-interruption')).toEqual({ ...state, name: 'paused', resumeTo: name });
      expect(run(state, 'possible-interruption', 'false-interruption')).toEqual(state);
    }
  });

  it('resumes to silence when playout has ended during the pause', () => {
    const paused = run({ name: 'speaking', reply, overlap: userTurn }, 'possible-interruption');
    expect(run(paused, 'playout-finished', 'false-interruption').name).toBe('thinking');
    expect(run(paused, 'playout-finished', 'playout-started', 'false-interruption').name).toBe('speaking');
  });

  it('forgets a reply that has finished, and goes on speaking what is left', () => {
    const state: CallState = { name: 'speaking', reply, overlap: undefined };
    expect(run(state, 'reply-finished')).toEqual({ name: 'speaking', reply: undefined, overlap: undefined });
    expect(run(state, 'reply-finished', 'bot-turn-finished')).toEqual({ name: 'idle', since: 42 });
    expect(run(state, 'playout-finished').name).toBe('thinking');
  });

  it('takes no turn for a backchannel', () => {
    expect(run({ name: 'endpointing', userTurn }, 'playout-started', 'playout-finished').name).toBe(
      'endpointing',
    );
  });
});

describe('a call goes through', () => {
  async function openCall(setup: StageSetup) {
    const stage = new Stage(setup);
    onTestFinished(() => stage.close());
    await stage.call();
    return stage;
  }
  const answers = [
    { text: 'The museum opens at nine, and it closes at six in the evening on every day of the week.' },
  ];
  const ask = async (stage: Stage) => {
    await stage.say('When does it open?');
    await stage.until(() => stage.states.at(-1) === 'speaking');
    await stage.pass(1200);
  };

  it('listening, endpointing, thinking and speaking for a question, and is idle again', async () => {
    const stage = await openCall({ answers });
    await ask(stage);
    await stage.until(() => stage.states.at(-1) === 'idle');
    expect(stage.states).toEqual(['listening', 'endpointing', 'idle', 'thinking', 'speaking', 'idle']);
  });

  it('a pause, and goes on speaking, for noise that sounds like speech', async () => {
    const stage = await openCall({ answers });
    await ask(stage);
    stage.states.length = 0;
    await stage.sound(coughOf(2000));
    await stage.until(() => stage.states.at(-1) === 'idle');
    expect(stage.states).toEqual(['paused', 'speaking', 'idle']);
  });

  it('listening as soon as the caller interrupts', async () => {
    const stage = await openCall({ answers });
    await ask(stage);
    stage.states.length = 0;
    await stage.say('No wait, I mean on Sundays.');
    await stage.until(() => stage.states.at(-1) === 'speaking');
    expect(stage.states).toEqual(['paused', 'listening', 'endpointing', 'idle', 'thinking', 'speaking']);
  });

  it('thinking again while a tool runs after the first words', async () => {
    const tools = { lookup: { takes: 3000, result: 'sunny' } };
    const replies = [
      { to: 'weather', text: 'Let me look.', tool: 'lookup' },
      { result_of: 'lookup', text: 'It is sunny.' },
    ];
    const stage = await openCall({ answers: replies, tools });
    await stage.say('What is the weather?');
    await stage.until(() => stage.states.at(-1) === 'idle' && stage.states.includes('speaking'));
    expect(stage.states.slice(-5)).toEqual(['thinking', 'speaking', 'thinking', 'speaking', 'idle']);
  });
});
