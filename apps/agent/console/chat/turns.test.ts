import { describe, expect, it } from 'vitest';
import { applyEvent } from '../../chats/turn-events.ts';
import { answerText, formOf, isYesOrNo, readableAnswer } from './QuestionCard.tsx';
import { bodyOf, mergeTurns, newMessage } from './useConversation.ts';
import type { Entry, Turn } from './wire.ts';

const turn = (task_id: string, entries: Entry[] = [], state: Turn['state'] = 'working'): Turn => ({
  task_id,
  session_id: 's',
  state,
  entries,
  usage: null,
  duration_ms: null,
  created_at: 0,
});
const event = (name: string, data: unknown) => ({ id: '', event: name, data: JSON.stringify(data) });

describe('a message that is sent again', () => {
  it('answers the turn that waited when it was first said, and no other', () => {
    const waiting = turn('a', [], 'input-required');
    const place = { sessionId: 's', branch: 'b', open: waiting };
    const answer = newMessage(place, 'yes', []);
    waiting.state = 'completed';
    Object.assign(place, { branch: 'c', open: turn('b', [], 'input-required') });
    const body = { text: 'yes', attachments: [], message_id: answer.id, branch: 'b', task_id: 'a' };
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
    expect(bodyOf(answer)).toEqual({ ...body, timezone: timeZone });
    expect(bodyOf(newMessage({ ...place, open: turn('b') }, 'more', []))).not.toHaveProperty('task_id');
  });
});

describe('turns', () => {
  it('take what a stream tells: entries, more text, states, and the whole turn anew', () => {
    let now = turn('a');
    now = applyEvent(now, event('entry', { index: 0, entry: { kind: 'text', text: 'One' } }));
    now = applyEvent(now, event('append', { index: 0, text: ' two' }));
    expect(now.entries).toEqual([{ kind: 'text', text: 'One two' }]);
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    now = applyEvent(now, event('state', { state: 'completed', usage, duration_ms: 5 }));
    expect(now).toMatchObject({ state: 'completed', usage, duration_ms: 5 });
    expect(applyEvent(now, event('turn', turn('a')))).toEqual(turn('a'));
    expect(applyEvent(now, event('append', { index: 7, text: 'lost' }))).toBe(now);
    expect(applyEvent(now, event('other', {}))).toBe(now);
  });

  it('are neither lost nor doubled when a list comes late', () => {
    const said = turn('b', [{ kind: 'text', text: 'newer' }]);
    expect(mergeTurns([turn('a'), turn('b')], [said])).toEqual([turn('a'), said]);
    expect(mergeTurns([], [said])).toEqual([said]);
    expect(mergeTurns([said, turn('c')], [said])).toEqual([said, turn('c')]);
  });
});

describe('questions', () => {
  it('hold a form, or none', () => {
    const form = formOf({ title: 'You', steps: [{ schema: { type: 'object' }, title: 'Name' }] });
    expect(form).toMatchObject({ title: 'You', steps: [{ title: 'Name', ui: {} }] });
    for (const none of [null, undefined, {}, { steps: [] }, 'text']) expect(formOf(none)).toBeUndefined();
  });

  it('are answered with the values of all steps, which read as lines', () => {
    const text = answerText([{ name: 'Ada' }, { seats: [1, 2] }]);
    expect(JSON.parse(text)).toEqual({ name: 'Ada', seats: [1, 2] });
    expect(readableAnswer(text)).toBe('name: Ada\nseats: [1,2]');
    for (const plain of ['blue', '42', '{}', '{broken']) expect(readableAnswer(plain)).toBe(plain);
  });

  it.each([
    ['May I run this command?', true],
    ['Answer yes or no: shall it run?', true],
    ['Which colour?', false],
  ])('%s can be answered with a button: %s', (words, expected) => {
    expect(isYesOrNo(words)).toBe(expected);
  });
});
