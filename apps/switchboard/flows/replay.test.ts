import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Crew, startCrew } from '../fixtures/crew.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await startCrew();
});
afterAll(() => crew.stop());

it('asks once more what a flow asked, as a flow of its own, with the same way back', async () => {
  const { board, seen, publish } = crew;
  const id = await publish('message.inbound.cli', { content: 'say it twice' });
  await seen.first('flow.item.completed', id);
  const { status, body } = await board.call(`/api/flows/skill-${id}/replay`, {});
  expect(status).toBe(202);
  const { correlationId } = body.data;
  expect((await seen.first('message.outbound.cli', correlationId)).payload.content).toBe(
    'model-of-helm heard you',
  );
  await seen.first('flow.item.completed', correlationId);
  const { body: one } = await board.call(`/api/flows/${body.data.id}`);
  expect(one.data).toMatchObject({ stage: 'done', skill: 'chat', correlationId });
  expect(one.data.trace[0].details.routing.why).toEqual(expect.any(String));
  expect(one.data.trace.at(-1).details.usage.totalTokens).toEqual(expect.any(Number));
  expect((await board.call('/api/flows/skill-none/replay', {})).status).toBe(404);
});

it('does the work of a flow again from a step on: what was done before it stays done', async () => {
  const { board, model, seen, publish } = crew;
  const noted = () => seen.messages.map(({ topic }) => topic).filter((topic) => topic.startsWith('note.'));
  const note = (id: string, topic: string) => ({
    toolCalls: [{ id, name: 'publish_event', arguments: { topic, payload: {} } }],
  });
  // The first note, the second, and then the model fails.
  const broken = { fault: 'status', status: 400, message: 'nonsense' } as const;
  model.enqueue(note('call-1', 'note.one'), note('call-2', 'note.two'), broken);
  const id = await publish('message.inbound.cli', { content: 'note it, twice' });
  await seen.first('flow.item.completed', id);
  const flow = `/api/flows/skill-${id}`;
  expect((await board.call(flow)).body.data).toMatchObject({ stage: 'error', targetAgent: 'helm' });
  expect(noted()).toEqual(['note.one', 'note.two']);
  const before = model.chats().length;
  model.enqueue('Noted.');
  const { status, body } = await board.call(`${flow}/retry`, { toolCallId: 'call-2' });
  expect(status).toBe(202);
  const { correlationId } = body.data;
  // It was done once already, so a person decides.
  const { payload: asked } = await seen.first('agent.input.request.', correlationId);
  expect(asked.question).toContain('publish_event ran before');
  await board.call('/api/a2a/input', { requestId: asked.requestId, answer: 'yes' });
  const answer = await seen.first('message.outbound.cli', correlationId);
  expect(answer.payload.content).toContain('Noted.');
  expect(noted()).toEqual(['note.one', 'note.two', 'note.two']);
  expect(model.chats().length - before).toBe(1);
  expect(
    model
      .chats()
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool'),
  ).toHaveLength(2);
  await seen.first('flow.item.completed', correlationId);
  // The audit says who did it.
  const audit = JSON.stringify((await board.call('/operator/audit')).body);
  expect(audit).toContain(`retried flow skill-${id} from call-2`);
  // The new flow can be done again from a step too, also one that the first had done.
  model.enqueue('Once more.');
  const again = await board.call(`/api/flows/${body.data.id}/retry`, { toolCallId: 'call-1' });
  expect(again.status).toBe(202);
  const question = await seen.first('agent.input.request.', again.body.data.correlationId);
  await board.call('/api/a2a/input', { requestId: question.payload.requestId, answer: 'no' });
  await seen.first('flow.item.completed', again.body.data.correlationId);
  expect(noted()).toHaveLength(3);
  const unknown = await board.call(`${flow}/retry`, { toolCallId: 'call-9' });
  expect([unknown.status, unknown.body.error]).toEqual([
    409,
    expect.stringContaining('replay the whole flow'),
  ]);
  expect((await board.call('/api/flows/skill-none/retry', { toolCallId: 'x' })).status).toBe(404);
}, 60_000);

it('gives out flows page by page', async () => {
  const { board } = crew;
  const ids = (flows: { id: string }[]) => flows.map(({ id }) => id);
  const all = ids((await board.call('/api/flows')).body.flows);
  const second = ids((await board.call('/api/flows?limit=1&offset=1')).body.flows);
  expect(second).toEqual(all.slice(1, 2));
});
