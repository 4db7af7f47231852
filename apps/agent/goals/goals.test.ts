import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelServer, type ScriptedReply, startModelServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answerText,
  modelEnvironment,
  startAgent,
  type TestAgent,
  type WireTask,
} from '../fixtures/start-agent.ts';

let model: ModelServer;
let agent: TestAgent;

beforeEach(async () => {
  model = await startModelServer();
});
afterEach(async () => {
  await agent.stop();
  await model.stop();
});

const begin = async (config = '') => {
  agent = await startAgent({ env: modelEnvironment(model.url), config });
  mkdirSync(join(agent.home, 'agent', 'workspace'), { recursive: true });
};
const setGoal = (verifier: object): ScriptedReply => ({
  toolCalls: [{ name: 'set_goal', arguments: { condition: 'The report is written', verifier } }],
});
const statusWords = (task: WireTask) => task.status.message?.parts[0]?.text;

describe('a goal', () => {
  it('sends the agent on until the check succeeds [A050]', async () => {
    await begin();
    model.enqueue(
      setGoal({ type: 'data', path: 'report.txt', contains: 'done' }),
      'I began.',
      { toolCalls: [{ name: 'write_file', arguments: { path: 'report.txt', content: 'all done' } }] },
      'It is written.',
    );
    const task = await agent.send('Write the report.');
    expect([task.status.state, answerText(task)]).toEqual(['completed', 'I began.\n\nIt is written.']);
    expect(JSON.stringify(model.chats()[2]?.messages)).toContain('The goal is not reached yet');
    const goals = (await (await agent.fetch('/api/goals')).json()) as { goals: object[] };
    expect(goals.goals).toMatchObject([{ status: 'achieved', iteration: 2 }]);
  });

  it('is not held up by a pipe in the place of the file that it looks at', async () => {
    await begin();
    execFileSync('mkfifo', [join(agent.home, 'agent', 'workspace', 'report.txt')]);
    model.enqueue(setGoal({ type: 'data', path: 'report.txt', contains: 'x' }), 'One.', 'Two.', 'Three.');
    const task = await agent.send('Go.');
    expect(statusWords(task)).toBe('The goal was not reached: 3 checks in a row found the same.');
  });

  it('is given up when nothing changes any more, and the answer says so', async () => {
    await begin();
    model.enqueue(setGoal({ type: 'data', path: 'never.txt' }), 'One.', 'Two.', 'Three.');
    const task = await agent.send('Go.');
    expect(task.status.state).toBe('completed');
    expect(statusWords(task)).toBe('The goal was not reached: 3 checks in a row found the same.');
  });

  it('that the demo model cannot work towards is told of once', async () => {
    agent = await startAgent();
    for (const wish of ['Set a goal: all tests pass', 'I want to set a new goal: the report is written']) {
      const task = await agent.send(wish, { contextId: 'demo' });
      const said = answerText(task).split('\n\n');
      expect(said[0]).toBe(`Goal set, checked by llm: ${wish.split(': ')[1]}`);
      expect(said.filter((words) => words.includes('I cannot work towards a goal by myself'))).toHaveLength(
        1,
      );
      expect(new Set(said).size).toBe(said.length);
    }
  });

  it('is given up after the turns it may take, though the agent sets it anew in each', async () => {
    await begin('goal: { max_iterations: 3 }');
    for (let turn = 1; turn <= 4; turn += 1)
      model.enqueue(setGoal({ type: 'data', path: 'never.txt' }), `Turn ${turn}.`);
    const task = await agent.send('Go.');
    expect([task.status.state, answerText(task)]).toEqual(['completed', 'Turn 1.\n\nTurn 2.\n\nTurn 3.']);
    expect(statusWords(task)).toMatch(/^The goal was not reached: /);
    const { goals } = (await (await agent.fetch('/api/goals')).json()) as { goals: object[] };
    expect(goals).toMatchObject([{ status: 'exhausted' }]);
  });

  it.each(['{"session_id": ', '{"session_id":"s","status":"lost"}'])(
    'whose file is damaged (%s) takes no answer away, and hides no other goal',
    async (damage) => {
      await begin();
      model.enqueue(
        setGoal({ type: 'data', path: 'never.txt' }),
        'One.',
        'Two.',
        'Three.',
        'Fine.',
        'Better.',
      );
      await agent.send('Go.');
      writeFileSync(join(agent.home, 'agent', 'goals', 'broken.json'), damage);
      const task = await agent.send('Hello', { contextId: 'broken' });
      const answer = task.artifacts?.[0]?.parts[0]?.text;
      expect([task.status.state, answer]).toEqual(['completed', 'Fine.']);
      expect(statusWords(task)).toMatch(/broken\.json holds no goal that can be read. Set the goal anew/);
      const { goals } = (await (await agent.fetch('/api/goals')).json()) as { goals: object[] };
      expect(goals).toMatchObject([{ status: 'unachievable' }]);
      expect((await agent.fetch('/api/goals/broken', { method: 'DELETE' })).ok).toBe(true);
      expect(statusWords(await agent.send('And now?', { contextId: 'broken' }))).toBeUndefined();
    },
  );

  it('can be judged by the model, and by a command that was approved with the goal', async () => {
    await begin('filesystem: { run_command: true }');
    model.enqueue(setGoal({ type: 'llm' }), 'Written.', 'YES, it says so.');
    expect(answerText(await agent.send('Go.'))).toBe('Written.');
    const command = 'test -f proof';
    model.enqueue(setGoal({ type: 'command', command }), 'I may not.');
    const denied = await agent.send('Go.');
    expect(answerText(denied)).toContain('May I check a goal with this command');
    await agent.send('no', { taskId: denied.id });
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toMatch(/^Error: the person did not approve/);
    writeFileSync(join(agent.home, 'agent', 'workspace', 'proof'), '');
    model.enqueue(setGoal({ type: 'command', command }), 'There.');
    const parked = await agent.send('Go.');
    const done = await agent.send('yes', { taskId: parked.id });
    expect([done.status.state, answerText(done)]).toEqual(['completed', 'There.']);
    const { goals } = (await (await agent.fetch('/api/goals')).json()) as { goals: { status: string }[] };
    expect(goals.filter(({ status }) => status === 'achieved')).toHaveLength(2);
  });

  it('is not checked by a script that was changed after its approval', async () => {
    await begin('filesystem: { run_command: true }');
    const workspace = join(agent.home, 'agent', 'workspace');
    writeFileSync(join(workspace, 'check.sh'), 'exit 1\n');
    model.enqueue(
      setGoal({ type: 'test', command: 'sh check.sh' }),
      'Began.',
      { toolCalls: [{ name: 'write_file', arguments: { path: 'check.sh', content: 'touch evil' } }] },
      'Made it easy.',
      'Again.',
      'And again.',
    );
    const parked = await agent.send('Go.');
    const done = await agent.send('yes', { taskId: parked.id });
    expect(statusWords(done)).toMatch(/^The goal was not reached/);
    expect(existsSync(join(workspace, 'evil'))).toBe(false);
    const { goals } = (await (await agent.fetch('/api/goals')).json()) as { goals: { evidence: string }[] };
    expect(goals[0]?.evidence).toMatch(/check\.sh changed after it was shown for approval/);
  });

  it('that was stored before commands were approved runs none', async () => {
    await begin('filesystem: { run_command: true }');
    const goal = {
      session_id: 'old',
      condition: 'x',
      verifier: { type: 'command', command: 'touch evil' },
      status: 'active',
      iteration: 0,
      reason: '',
      evidence: '',
    };
    mkdirSync(join(agent.home, 'agent', 'goals'), { recursive: true });
    writeFileSync(join(agent.home, 'agent', 'goals', 'old.json'), JSON.stringify(goal));
    model.enqueue('One.', 'Two.', 'Three.');
    const task = await agent.send('Go.', { contextId: 'old' });
    expect(statusWords(task)).toMatch(/^The goal was not reached/);
    expect(existsSync(join(agent.home, 'agent', 'workspace', 'evil'))).toBe(false);
  });
});
