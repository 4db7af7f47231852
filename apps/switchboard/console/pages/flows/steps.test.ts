import { expect, it } from 'vitest';
import type { Flow } from '../../../api-types.ts';
import { lampOf } from './FlowPage.tsx';
import { stepsOf } from './Timeline.tsx';

it('does not call work done that nobody approved', () => {
  const lamp = (approval: Flow['approval']) =>
    lampOf({ status: 'complete', stage: 'done', approval } as Flow);
  expect(lamp('denied')).toEqual({ state: 'idle', word: 'Not approved' });
  expect(lamp('unanswered')).toEqual({ state: 'failed', word: 'Not answered' });
  expect(lamp(null)).toEqual({ state: 'done', word: 'Done' });
});

it('makes one step of the call of a tool and its end, with the time it took', () => {
  const steps = stepsOf([
    { at: 10, event: 'request', details: { skill: 'chat', agent: 'helm' } },
    { at: 20, event: 'tool-start', details: { toolCallId: 'a', name: 'add', input: { x: 1 } } },
    { at: 50, event: 'tool-end', details: { toolCallId: 'a', name: 'add', result: '2', failed: true } },
    { at: 60, event: 'end', details: { taskState: 'completed', replyTopic: 'message.outbound.cli' } },
  ]);
  expect(steps.map(({ title }) => title)).toEqual(['Request', 'Tool add', 'End']);
  expect(steps[0]?.words).toBe('for chat, meant for helm');
  expect(steps[1]).toMatchObject({ tookMs: 30, tone: 'failed', whole: [{}, { code: '2' }] });
  expect(steps[2]).toMatchObject({ words: 'completed, answer on message.outbound.cli', whole: [] });
});

it('folds the id of the channel that gets the answer', () => {
  const replyTopic = 'message.outbound.chat.112233445566778899.by.helm';
  const [end] = stepsOf([{ at: 60, event: 'end', details: { taskState: 'completed', replyTopic } }]);
  expect(end?.words).toBe('completed, answer on message.outbound.chat');
  expect(end?.whole).toEqual([{ title: 'Answer on', code: replyTopic }]);
});

it('shows what is not known as it is', () => {
  expect(stepsOf([{ at: 1, event: 'odd', details: { a: 1 } }])[0]).toMatchObject({
    title: 'odd',
    whole: [{ code: '{\n  "a": 1\n}' }],
  });
});
