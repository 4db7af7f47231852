import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInTools, type Crew, startCrew } from '../fixtures/crew.ts';
import type { Json } from '../fixtures/start-switchboard.ts';

let crew: Crew;
let { model, board, seen, publish } = {} as Crew;
beforeAll(async () => {
  crew = await startCrew();
  ({ model, board, seen, publish } = crew);
});
afterAll(() => crew.stop());

describe('agents in this process', () => {
  const answerOf = async (id: string) => (await seen.first(`agent.skill.response.${id}`)).payload.content;

  it('use the tools of their whitelist and no other', async () => {
    model.enqueue(
      { toolCalls: [{ name: 'report_incident', arguments: { title: 'Leak', severity: 'high' } }] },
      'reported',
    );
    expect(
      await answerOf(await publish('agent.skill.request', { skillHint: 'incidents', content: 'x' })),
    ).toBe('reported');
    expect(
      model
        .chats()
        .at(-1)
        ?.tools?.map((tool) => tool.function.name),
    ).toEqual(['get_incidents', 'report_incident', ...builtInTools, 'ask_human']);
    expect((await seen.first('security.incident.reported')).payload).toMatchObject({
      id: 'INC-001',
      title: 'Leak',
      severity: 'high',
      status: 'open',
    });
    model.enqueue(
      { toolCalls: [{ name: 'publish_event', arguments: { topic: 'note.made', payload: { a: 1 } } }] },
      'told',
    );
    const id = await publish('agent.skill.request', { skillHint: 'chat', content: 'x' });
    expect((await seen.first('note.made', id)).payload).toEqual({ a: 1 });
  });

  it('end after maxTurns [S042] [S155]', async () => {
    const call = { toolCalls: [{ name: 'get_incidents', arguments: {} }] };
    model.enqueue(call, call);
    expect(
      await answerOf(await publish('agent.skill.request', { skillHint: 'incidents', content: 'x' })),
    ).toContain('2 steps');
  });

  it('delegate two levels deep and no deeper [S041] [S153] [S037]', async () => {
    const before = model.chats().length;
    model.enqueue(
      { toolCalls: [{ name: 'delegate_to', arguments: { target: 'mate', query: 'steer' } }] },
      { toolCalls: [{ name: 'delegate_to', arguments: { target: 'boy', query: 'row' } }] },
      'rowed',
      'steered',
      'all done',
    );
    expect(await answerOf(await publish('agent.skill.request', { skillHint: 'chat', content: 'go' }))).toBe(
      'all done',
    );
    const calls = model.chats().slice(before);
    expect(calls.map((call) => call.model)).toEqual([
      'model-of-helm',
      'model-of-mate',
      'model-of-boy',
      'model-of-mate',
      'model-of-helm',
    ]);
    expect(calls.map(({ tools = [] }) => tools.some((tool) => tool.function.name === 'delegate_to'))).toEqual(
      [true, true, false, true, true],
    );
  });

  it('go on with a conversation that has become too long for their model, and say so', async () => {
    const ask = async (content: string) =>
      await answerOf(
        await publish('agent.skill.request', { skillHint: 'row', content, conversationId: 'long' }),
      );
    for (const number of [1, 2, 3]) await ask(`${number} ${'and so on '.repeat(400)}`);
    model.enqueue(
      { fault: 'status', status: 400, message: 'the prompt exceeds the context size of the model' },
      'They counted.',
      'Four.',
    );
    expect(await ask('And now?')).toBe(
      "Earlier messages were summarised to fit the model's context\n\nFour.",
    );
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toMatch(/They counted\..*And now\?/);
  });

  it('are listed with their skills', async () => {
    const { data } = (await board.call('/api/agents')).body;
    expect(data.find(({ name }: Json) => name === 'warden')).toMatchObject({
      type: 'in-process',
      skills: [{ name: 'incidents' }, { name: 'pr_review' }],
    });
  });
});
