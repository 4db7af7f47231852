import { describe, expect, it } from 'vitest';
import { type Exchange, NO_EXCHANGE, settle, take, typed } from './exchange.ts';
import { openMessage, sealMessage } from './link.ts';

/** The exchange after a row of messages, one every 100 ms. */
function after(...messages: (readonly [type: string, data?: object])[]): Exchange {
  return messages.reduce<Exchange>(
    (exchange, [type, data], index) => take(exchange, { type, data: { ...data } }, index * 100),
    NO_EXCHANGE,
  );
}

const heard = (text: string, final: boolean) => ['user-transcription', { text, final }] as const;

describe('an exchange', () => {
  it('knows whether speech still loads, until the line is gone', () => {
    const loading = after(['server-message', { type: 'speech-loading' }]);
    expect(loading.loading).toBe(true);
    expect(
      after(['server-message', { type: 'speech-loading' }], ['server-message', { type: 'speech-ready' }]),
    ).toEqual(NO_EXCHANGE);
    expect(after(['server-message', { type: 'news-of-others' }])).toBe(NO_EXCHANGE);
    expect(settle(loading, 'whole').loading).toBe(true);
    expect(settle(loading, 'lost').loading).toBe(false);
  });

  it('knows whether the call is on hold, until the line is gone', () => {
    const held = after(['server-message', { type: 'call-held' }]);
    expect([held.onHold, settle(held, 'whole').onHold, settle(held, 'lost').onHold]).toEqual([
      true,
      true,
      false,
    ]);
    expect(
      after(['server-message', { type: 'call-held' }], ['server-message', { type: 'call-resumed' }]),
    ).toEqual(NO_EXCHANGE);
  });

  it('shows guesses while the caller speaks, and then what stands', () => {
    expect(after(heard('what', false), heard('what time', false)).entries).toMatchObject([
      { who: 'you', text: '', pending: 'what time' },
    ]);
    const whole = after(heard('what time', false), heard('What time is it?', true), heard('in', false));
    expect(whole.entries).toMatchObject([{ text: 'What time is it?', pending: 'in' }]);
  });

  it('shows what is written faintly, and what is spoken as it is spoken', () => {
    const exchange = after(
      heard('Hello', true),
      ['bot-llm-started'],
      ['bot-llm-text', { text: 'Good morning. ' }],
      ['bot-llm-text', { text: 'How are you?' }],
      ['bot-started-speaking'],
      ['bot-tts-text', { text: 'Good morning.' }],
    );
    expect(exchange.activity).toBe('speaking');
    expect(exchange.entries[1]).toMatchObject({
      who: 'assistant',
      text: 'Good morning.',
      pending: ' How are you?',
    });
  });

  it('cuts an answer to what was spoken when the caller breaks in', () => {
    const exchange = after(
      ['bot-llm-text', { text: 'One. Two. Three.' }],
      ['bot-started-speaking'],
      ['bot-tts-text', { text: 'One.' }],
      ['bot-interrupted'],
    );
    expect(exchange).toMatchObject({
      activity: 'listening',
      entries: [{ text: 'One.', pending: '', cut: true }],
    });
    expect(after(['bot-llm-text', { text: 'Never said.' }], ['bot-interrupted']).entries).toEqual([]);
    const lost = settle(
      after(['bot-llm-text', { text: 'One. Two.' }], ['bot-tts-text', { text: 'One.' }]),
      'lost',
    );
    expect(lost.entries).toMatchObject([{ text: 'One.', cut: false }]);
    const unspoken = settle(after(['bot-llm-text', { text: 'Read only.' }]), 'lost');
    expect(unspoken.entries).toMatchObject([{ text: 'Read only.', cut: false }]);
  });

  it('begins a new caption for a new answer, and joins what comes after a pause', () => {
    const exchange = after(
      ['bot-tts-text', { text: 'First.' }],
      ['bot-stopped-speaking'],
      ['bot-tts-text', { text: 'Still first.' }],
      heard('And?', true),
      ['bot-tts-text', { text: 'Second.' }],
    );
    expect(exchange.entries.map((entry) => entry.kind === 'caption' && entry.text)).toEqual([
      'First. Still first.',
      'And?',
      'Second.',
    ]);
  });

  it('thinks from the last word to the first sound, and measures it', () => {
    const asked = after(['user-started-speaking'], heard('Hm?', true), ['user-stopped-speaking']);
    expect(asked).toMatchObject({ activity: 'thinking', hearing: false });
    const answered = take(asked, { type: 'bot-started-speaking', data: {} }, 900);
    expect(answered).toMatchObject({ activity: 'speaking', latencyMs: 700 });
    const measured = take(answered, { type: 'metrics', data: { turn: { first_packet_ms: 640 } } }, 1000);
    expect(measured.latencyMs).toBe(640);
  });

  it('follows tools from start to end, also those that fail or are left behind', () => {
    const start = (id: string) =>
      [
        'llm-function-call-started',
        { tool_call_id: id, function_name: 'clock', arguments: { zone: 'UTC' } },
      ] as const;
    const stop = (id: string, more: object) =>
      ['llm-function-call-stopped', { tool_call_id: id, function_name: 'clock', ...more }] as const;
    const exchange = after(
      start('a'),
      start('b'),
      start('c'),
      stop('a', { result: 'noon' }),
      stop('b', { result: 'Error: no clock' }),
      start('d'),
      stop('d', { result: 'Error: not run', held: { rule: 'rules[0]', why: 'it writes' } }),
    );
    expect(exchange.entries[3]).toMatchObject({
      state: 'held',
      held: { rule: 'rules[0]', why: 'it writes' },
    });
    expect(exchange.entries).toMatchObject([
      { name: 'clock', input: '{"zone":"UTC"}', state: 'done', result: 'noon', startedAt: 0, endedAt: 300 },
      { state: 'failed', result: 'Error: no clock' },
      { state: 'running' },
      { state: 'held' },
    ]);
    expect(settle(exchange, 'whole').entries[2]).toMatchObject({ state: 'failed' });
  });

  it('shows notes of the service between what was said', () => {
    const exchange = after(
      ['bot-tts-text', { text: 'One.' }],
      ['server-message', { type: 'note', text: 'Older messages were summarised.' }],
      ['server-message', { type: 'note', text: 'Older messages were summarised.' }],
      ['bot-tts-text', { text: 'Two.' }],
    );
    expect(exchange.entries).toMatchObject([
      { kind: 'caption', text: 'One. Two.' },
      { kind: 'note', text: 'Older messages were summarised.' },
    ]);
  });

  it('shows a typed text once, though the service repeats it', () => {
    const exchange = typed(NO_EXCHANGE, 'Hello', 0);
    expect(exchange).toMatchObject({ activity: 'thinking', entries: [{ typed: true, text: 'Hello' }] });
    const repeated = take(exchange, { type: 'user-transcription', data: { text: 'Hello', final: true } }, 1);
    expect(repeated.entries).toHaveLength(1);
  });

  it('keeps the last two hundred entries and ignores what it does not know', () => {
    let exchange = NO_EXCHANGE;
    for (let index = 0; index < 250; index += 1) exchange = typed(exchange, `line ${index}`, index);
    expect(exchange.entries).toHaveLength(200);
    expect(take(exchange, { type: 'bot-waved', data: {} }, 0)).toBe(exchange);
    expect(take(exchange, { type: 'user-transcription', data: { text: 7 } }, 0)).toBe(exchange);
  });
});

describe('messages of the data channel', () => {
  it('are opened and sealed in the RTVI style', () => {
    expect(JSON.parse(sealMessage('send-text', { content: 'x' }))).toMatchObject({
      label: 'rtvi-ai',
      type: 'send-text',
      data: { content: 'x' },
    });
    expect(openMessage('{"label":"rtvi-ai","type":"bot-ready","data":{"a":1}}')).toEqual({
      type: 'bot-ready',
      data: { a: 1 },
    });
  });

  it.each(['ping: 1', '{"label":"other","type":"x"}', '{"label":"rtvi-ai"}', '{broken', ''])(
    'ignores %j',
    (text) => {
      expect(openMessage(text)).toBeUndefined();
    },
  );
});
