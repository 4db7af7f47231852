import { expect, it } from 'vitest';
import { stepsOf } from './Timeline.tsx';

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
  expect(steps[2]?.words).toBe('completed, answer on message.outbound.cli');
});

it('shows what is not known as it is', () => {
  expect(stepsOf([{ at: 1, event: 'odd', details: { a: 1 } }])[0]).toMatchObject({
    title: 'odd',
    whole: [{ code: '{\n  "a": 1\n}' }],
  });
});
