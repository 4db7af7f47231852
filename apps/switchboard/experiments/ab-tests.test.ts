import { startModelServer } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';

it('compares two agents at a skill and tells who did better [S139]', async () => {
  const model = await startModelServer({
    script: ({ model: name }) =>
      name === 'model-of-old' ? { fault: 'status', status: 400, message: 'no' } : `${name} did it`,
  });
  const board = await startSwitchboard({
    env: { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' },
    files: {
      'agents/old.yaml': agent('old', 'role: general\nskills: [{ name: cook }]'),
      'agents/young.yaml': agent('young', 'role: general\nskills: [{ name: cook }, { name: bake }]'),
    },
  });
  const seen = await observe(board);
  const publish = (topic: string, payload: Json, correlationId: string) =>
    board.call('/publish', { topic, payload, correlationId });
  for (const [id, payload] of Object.entries({
    bad1: { skill: 'cook', n: 1, challengerAgentName: 'young' },
    bad2: { skill: 'cook', n: 8, challengerAgentName: 'nobody' },
    bad3: { skill: 'bake', n: 8, challengerAgentName: 'young' },
  })) {
    await publish('skill.ab_test.register', payload, id);
    expect((await seen.first('system.error', id)).payload.plugin).toBe('ab-tests');
  }
  await publish('skill.ab_test.register', { skill: 'cook', n: 8, challengerAgentName: 'young' }, 'ok');
  await expect
    .poll(async () => (await board.call('/api/ab-tests')).body.data)
    .toMatchObject([
      { skill: 'cook', n: 8, control: { agent: 'old', runs: 0 }, challenger: { agent: 'young' } },
    ]);
  const ids = Array.from({ length: 8 }, (_, index) => `dish-${index}`);
  for (const id of ids) await publish('agent.skill.request', { skillHint: 'cook', content: 'x' }, id);
  const { payload } = await seen.first('skill.ab_test.resolved');
  expect(payload).toMatchObject({ skill: 'cook', n: 8, winner: 'young' });
  const { control, challenger } = payload;
  expect(control).toMatchObject({ agent: 'old', successes: 0, successRate: 0 });
  expect(challenger).toMatchObject({ agent: 'young', successRate: 1, successes: challenger.runs });
  expect(control.runs + challenger.runs).toBe(8);
  expect(Math.min(control.runs, challenger.runs)).toBeGreaterThan(0);
  expect((await board.call('/api/ab-tests')).body.data).toEqual([]);
  await publish('agent.skill.request', { skillHint: 'cook', agent: 'young', content: 'x' }, 'after');
  expect((await seen.first('agent.skill.response.after')).payload.content).toBe('model-of-young did it');
  seen.close();
  await board.stop();
  await model.stop();
});
