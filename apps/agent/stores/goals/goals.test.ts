import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownerKey, type Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkGoal, type Finding, goalReminder } from '../../goals/goal-keeper.ts';
import { GoalStore } from './goal-store.ts';

let home = temporaryDirectory();
const signal = new AbortController().signal;

beforeEach(() => {
  home = temporaryDirectory();
});
afterEach(() => home.remove());

function setting(findings: Finding[]) {
  const goals = new GoalStore(join(home.path, 'goals'));
  const asked: unknown[][] = [];
  const answer = (...given: unknown[]) => {
    asked.push(given.filter((each) => !(each instanceof AbortSignal)));
    return Promise.resolve(findings.shift() ?? { reached: false, evidence: 'the end' });
  };
  const verifiers = {
    command: (...given: unknown[]) => answer('command', ...given),
    data: (...given: unknown[]) => answer('data', ...given),
    llm: (...given: unknown[]) => answer('llm', ...given),
  };
  const options = { goals, verifiers, maxIterations: 4, noProgressLimit: 2 };
  const check = (output = 'said') => checkGoal({ sessionId: 's/1', output }, options, signal);
  return { goals, asked, check };
}

const approval = { directory: '/project', files: [{ path: '/project/check.sh', sha256: 'ab' }] };

describe('goals', () => {
  it('are kept in a file per session [A050]', async () => {
    const { goals } = setting([]);
    await goals.set('s/1', 'tests pass', { type: 'test', command: 'npm test' });
    const again = new GoalStore(join(home.path, 'goals'));
    expect(await again.get('s/1')).toMatchObject({ condition: 'tests pass', status: 'active', iteration: 0 });
    expect(await again.list()).toHaveLength(1);
    await again.remove('s/1');
    expect(await again.get('s/1')).toBeUndefined();
    expect(await new GoalStore(join(home.path, 'none')).list()).toEqual([]);
  });

  it.each([
    [{ type: 'command', command: 'true' } as const, ['command', 'true', approval]],
    [{ type: 'test', command: 'npm test' } as const, ['command', 'npm test', approval]],
    [{ type: 'data', path: 'a.txt', contains: 'x' } as const, ['data', 'a.txt', 'x']],
    [{ type: 'llm' } as const, ['llm', 'c', 'said']],
  ])('are verified by %j', async (verifier, question) => {
    const { goals, asked, check } = setting([{ reached: true, evidence: 'seen' }]);
    await goals.set('s/1', 'c', verifier, approval);
    expect(await check()).toMatchObject({ status: 'achieved', evidence: 'seen', iteration: 1 });
    expect(asked).toEqual([question]);
    expect((await check())?.iteration).toBe(1);
  });

  it('go on while there is progress, and end when it runs out', async () => {
    const found = (evidence: string) => ({ reached: false, evidence });
    const { goals, check } = setting([found('1'), found('2'), found('3'), found('4')]);
    const goal = await goals.set('s/1', 'c', { type: 'llm' });
    expect(goalReminder({ ...goal, evidence: '2 failures' })).toContain('2 failures');
    expect([(await check())?.status, (await check())?.status, (await check())?.status]).toEqual(
      Array(3).fill('active'),
    );
    expect(await check()).toMatchObject({ status: 'exhausted', iteration: 4 });
  });

  it('are given up when nothing changes', async () => {
    const { goals, check } = setting([]);
    await goals.set('s/1', 'c', { type: 'llm' });
    expect((await check())?.status).toBe('active');
    expect(await check()).toMatchObject({ status: 'unachievable', iteration: 2 });
  });

  it('stay dropped, or as they were set anew, when a check of the old one ends later', async () => {
    const found = Promise.withResolvers<Finding>();
    const asked = Promise.withResolvers<void>();
    const goals = new GoalStore(join(home.path, 'goals'));
    const look = () => {
      asked.resolve();
      return found.promise;
    };
    const verifiers = { command: look, data: look, llm: look };
    await goals.set('s', 'old', { type: 'llm' });
    const check = checkGoal(
      { sessionId: 's', output: '' },
      { goals, verifiers, maxIterations: 4, noProgressLimit: 2 },
      signal,
    );
    await asked.promise;
    await goals.remove('s');
    found.resolve({ reached: false, evidence: 'not yet' });
    expect(await check).toBeUndefined();
    expect(await goals.get('s')).toBeUndefined();
  });

  it('whose file cannot be read are removed by the owner it names, or else by the operator alone', async () => {
    const folder = join(home.path, 'goals');
    const goals = new GoalStore(folder);
    const person = (name: string) => {
      const viewer: Principal = { kind: 'person', id: `user:${name}`, via: [] };
      return goals.for({ owner: ownerKey(viewer), viewer });
    };
    const stays = async (text: string, store: GoalStore) => {
      await goals.set('s', 'c', { type: 'llm' });
      const [name = ''] = readdirSync(folder);
      writeFileSync(join(folder, name), text);
      await store.remove('s');
      return readdirSync(folder).length === 1;
    };
    const anonymous: Principal = { kind: 'anonymous', id: 'anonymous', via: [] };
    const hers = JSON.stringify({ owner: 'person:user:ava', status: 'odd' });
    for (const text of ['{ "owner": "person:user:ava", ', '[]', 'null', '{}', '{"owner": 5}']) {
      expect(await stays(text, person('ava'))).toBe(true);
      expect(await stays(text, goals.for({ owner: 'anonymous', viewer: anonymous }))).toBe(true);
      expect(await stays(text, goals)).toBe(false);
    }
    expect([await stays(hers, person('bob')), await stays(hers, person('ava'))]).toEqual([true, false]);
    await goals.remove('never set');
  });

  it('are not needed', async () => {
    expect(await setting([]).check()).toBeUndefined();
  });
});
