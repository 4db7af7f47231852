import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SharedRows } from '../cluster/row-replica.ts';
import { QuestionStore } from '../human/question-store.ts';
import { sharedFlows } from './flow-replica.ts';
import { FlowStore, type SharedFlow } from './flow-store.ts';

const mostBytes = 450_000;
let directory: TemporaryDirectory;
let now: number;
let boards: Board[];

beforeEach(() => {
  directory = temporaryDirectory();
  now = 1000;
  boards = [];
});
afterEach(() => {
  for (const { own, elsewhere, questions } of boards) {
    own.close();
    elsewhere.close();
    questions.close();
  }
  directory.remove();
});

interface Board {
  own: FlowStore;
  elsewhere: FlowStore;
  questions: QuestionStore;
  rows: SharedRows<SharedFlow>;
}

function board(name: string): Board {
  const path = (file: string) => join(directory.path, `${name}-${file}.db`);
  const own = new FlowStore(path('flows'), () => now);
  const elsewhere = new FlowStore(path('elsewhere'), () => now);
  const questions = new QuestionStore(path('questions'), () => now);
  const rows = sharedFlows(own, elsewhere, { own: questions, elsewhere: undefined });
  const opened = { own, elsewhere, questions, rows };
  boards.push(opened);
  return opened;
}

const open = ({ own }: Board, messageId: string, owner = 'anonymous') => {
  now += 1;
  return own.open({ messageId, correlationId: 'run', skill: 'work', request: messageId, owner }).id;
};
const share = (from: Board, id: string, to: Board) => {
  const row = from.rows.read(id, mostBytes);
  if (row !== undefined) to.rows.take(row, 'other');
};
const end = async ({ own }: Board, id: string) => {
  now += 1;
  await own.end(id, undefined, {});
};
const ask = ({ questions }: Board) => {
  now += 1;
  const asked = { requestId: 'q', correlationId: 'run', question: 'Sure?', approval: false };
  questions.open({ ...asked, owner: 'anonymous' });
};

describe('two requests of a correlation, each at a switchboard of its own', () => {
  it('are two flows, whichever ends first', async () => {
    const [one, two, third] = [board('one'), board('two'), board('third')];
    const first = open(one, 'm1', 'user:ada');
    const second = open(two, 'm2', 'user:bob');
    two.own.trace(second, 'tool-start', {});
    expect(first).toBe(second);
    share(two, second, third);
    await end(one, first);
    for (const other of [two, third]) share(one, first, other);
    expect(two.own.ofMessage('m2', 'run')).toMatchObject({ id: second, status: 'active' });
    expect(two.own.traceOf(second)).toHaveLength(1);
    expect(two.own.ownerOfRequest('run')).toBe('user:bob');
    expect(
      two.own.open({ messageId: 'm2', correlationId: 'run', skill: 'w', request: '', owner: 'x' }).id,
    ).toBe(second);
    for (const other of [two, third])
      expect(other.elsewhere.ofMessage('m1', 'run')).toMatchObject({
        id: 'skill-run-m1',
        status: 'complete',
      });
    expect(third.elsewhere.ofMessage('m2', 'run')).toMatchObject({ id: 'skill-run', status: 'active' });
    // Once more, and the end of the other.
    await end(two, second);
    for (const each of [one, two]) share(each, 'skill-run', third);
    const listed = third.elsewhere.list({
      limit: 10,
      principal: { kind: 'operator', id: 'operator', via: [] },
    });
    expect(listed.map(({ id, status }) => `${id} ${status}`).sort()).toEqual([
      'skill-run complete',
      'skill-run-m1 complete',
    ]);
  });

  it('leave open what the other asked', async () => {
    const [one, two] = [board('one'), board('two')];
    const [first, second] = [open(one, 'm1'), open(two, 'm2')];
    ask(two);
    await end(one, first);
    share(one, first, two);
    expect(two.questions.pending()).toHaveLength(1);
    // It goes on at the first, and ends there: nobody waits at the second.
    const moved = open(one, 'm2');
    expect(moved).not.toBe(second);
    await end(one, moved);
    share(one, moved, two);
    expect(two.questions.pending()).toEqual([]);
    expect(two.own.get(second)?.status).toBe('complete');
  });

  it('leave open what another request of the same switchboard asked', async () => {
    const [one, two] = [board('one'), board('two')];
    const [first, second] = [open(two, 'm1'), open(two, 'm2')];
    ask(two);
    const moved = open(one, 'm1');
    await end(one, moved);
    share(one, moved, two);
    expect(two.own.get(first)?.status).toBe('complete');
    expect(two.questions.pending()).toHaveLength(1);
    await end(two, second);
  });
});

it('a copy as late as the own row replaces none of its trace', async () => {
  const [one, two] = [board('one'), board('two')];
  const id = open(one, 'm1');
  one.own.trace(id, 'request', {});
  const row = one.own.shared(id);
  if (row === undefined) throw new Error('There is no row.');
  two.own.take(row);
  two.own.trace(id, 'tool-start', {});
  two.rows.take(row, 'one');
  expect(two.own.traceOf(id).map(({ event }) => event)).toEqual(['request', 'tool-start']);
  // Nor does one whose trace was cut.
  await end(two, id);
  const whole = two.own.shared(id);
  if (whole === undefined) throw new Error('There is no row.');
  two.rows.take({ ...whole, trace: whole.trace.slice(0, 1) }, 'one');
  expect(two.own.traceOf(id)).toHaveLength(3);
});
