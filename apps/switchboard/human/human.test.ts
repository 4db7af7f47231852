import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agent, type Crew, startCrew } from '../fixtures/crew.ts';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';

let crew: Crew;
let { model, board, seen, publish } = {} as Crew;
beforeAll(async () => {
  crew = await startCrew();
  ({ model, board, seen, publish } = crew);
});
afterAll(() => crew.stop());

const pending = async (from = board) => (await from.call('/api/hitl/pending')).body.data;

it('blocks the asker until somebody answers [S086] [S087] [S122] [S123]', async () => {
  const asking = board.call('/api/agent/ask-human', { correlationId: 'q1', question: 'Ship it?' });
  const { payload } = await seen.first('agent.input.request.q1');
  expect(payload).toMatchObject({ correlationId: 'q1', question: 'Ship it?' });
  expect(await pending()).toMatchObject([
    { requestId: payload.requestId, question: 'Ship it?', answer: null },
  ]);
  const { requestId } = payload;
  expect((await board.call('/api/a2a/input', { requestId, answer: 'yes' })).body).toEqual({ success: true });
  expect((await asking).body).toEqual({ success: true, answer: 'yes' });
  expect((await seen.first(`agent.input.response.${requestId}`)).payload).toMatchObject({ answer: 'yes' });
  expect((await board.call('/api/a2a/input', { requestId, answer: 'no' })).status).toBe(409);
  expect((await board.call('/api/a2a/input', { requestId: 'none', answer: 'no' })).status).toBe(404);
  expect((await board.call('/api/agent/ask-human', { question: 'x' })).status).toBe(400);
  expect(await pending()).toEqual([]);
});

it('lets an agent ask in the middle of its work; its flow is blocked meanwhile [S122]', async () => {
  model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which port?' } }] }, 'port it is');
  const id = await publish('agent.skill.request', { skillHint: 'chat', content: 'x' });
  const { requestId } = (await seen.first(`agent.input.request.${id}`)).payload;
  await waitFor(
    async () => (await board.call('/api/flows?status=blocked')).body.flows[0]?.id === `skill-${id}`,
  );
  await board.call('/api/a2a/input', { requestId, answer: 'the left one' });
  expect((await seen.first(`agent.skill.response.${id}`)).payload.content).toBe('port it is');
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('the left one');
});

it('lets the switchboard stop while an agent waits for a person, and goes on after the start', async () => {
  const home = `${board.home}/third`;
  const files = { 'agents/helm.yaml': agent('helm', 'role: orchestrator\nskills: [{ name: chat }]') };
  const env = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
  const question = { toolCalls: [{ name: 'ask_human', arguments: { question: 'Left or right?' } }] };
  model.enqueue(question);
  const first = await startSwitchboard({ home, files, env });
  await first.call('/publish', {
    topic: 'agent.skill.request',
    payload: { skillHint: 'chat', content: 'Turn' },
    correlationId: 'turn',
  });
  await waitFor(async () => (await pending(first)).length === 1);
  await first.stop();
  expect(first.log.filter((line) => line.includes('still at work'))).toEqual([]);
  model.enqueue(question, 'left it is');
  const second = await startSwitchboard({ home, env });
  const [{ requestId }] = await pending(second);
  await second.call('/api/a2a/input', { requestId, answer: 'left' });
  await waitFor(async () => (await second.call('/api/flows/skill-turn')).body.data?.status === 'complete');
  expect(await pending(second)).toEqual([]);
  await second.stop();
});

it('keeps questions over a restart, and an answer for whoever asks again [S086]', async () => {
  const first = await startSwitchboard({ home: `${board.home}/second` });
  const leaving = new AbortController();
  const asking = first.fetch('/api/agent/ask-human', {
    method: 'POST',
    body: JSON.stringify({ correlationId: 'q2', question: 'Go on?' }),
    signal: leaving.signal,
  });
  await waitFor(async () => (await pending(first)).length === 1);
  leaving.abort();
  await expect(asking).rejects.toThrow();
  await first.stop();
  const second = await startSwitchboard({ home: `${board.home}/second` });
  const [{ requestId }] = await pending(second);
  expect((await second.call('/api/a2a/input', { requestId, answer: 'sure' })).status).toBe(200);
  const again = await second.call('/api/agent/ask-human', { correlationId: 'q2', question: 'Go on?' });
  expect(again.body).toEqual({ success: true, answer: 'sure' });
  await second.stop();
});
