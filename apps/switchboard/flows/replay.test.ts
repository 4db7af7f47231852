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

it('gives out flows page by page', async () => {
  const { board } = crew;
  const ids = (flows: { id: string }[]) => flows.map(({ id }) => id);
  const all = ids((await board.call('/api/flows')).body.flows);
  const second = ids((await board.call('/api/flows?limit=1&offset=1')).body.flows);
  expect(second).toEqual(all.slice(1, 2));
});
