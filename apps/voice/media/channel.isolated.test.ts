import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { startVoice } from '../voice.suite.ts';
import { dial } from './caller.suite.ts';
import { pitch, startLines, startLinesByHand, tone } from './lines.suite.ts';

const ready = { label: 'rtvi-ai', type: 'client-ready', id: 'r1', data: { version: '1' } };

describe('the data channel', () => {
  it('is opened by the server where the client makes none [V099]', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { channel: 'server' });
    const opened = await line();
    await caller.tell(ready);
    await waitFor(() => opened.told.length > 0);
    expect(opened.told).toEqual([{ type: 'client-ready', id: 'r1', data: { version: '1' } }]);
    opened.send({ type: 'bot-ready', id: 'r1' });
    await waitFor(() => caller.messages().length > 0);
    expect(caller.messages()).toEqual([{ label: 'rtvi-ai', type: 'bot-ready', id: 'r1' }]);
  });

  it('is taken from a client that makes its own', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { channel: 'client' });
    const opened = await line();
    const [own] = caller.channels;
    const heard: string[] = [];
    own?.addEventListener('message', ({ data }) => heard.push(String(data)));
    await caller.tell(ready);
    await waitFor(() => opened.told.length > 0);
    opened.send({ type: 'bot-ready' });
    await waitFor(() => heard.includes(JSON.stringify({ label: 'rtvi-ai', type: 'bot-ready' })));
  });

  it('may be missing: after 10 seconds that is said, and sound goes on [V099] [V122]', async () => {
    const { voice, clock, line, warnings } = await startLinesByHand();
    const caller = await dial(voice, { channel: 'none' });
    const opened = await line();
    opened.send({ type: 'bot-ready' });
    await clock.advanceBy(9999);
    expect(warnings()).toEqual([]);
    await clock.advanceBy(1);
    expect(warnings()).toEqual([expect.stringMatching(/data channel did not open within 10 seconds/)]);
    opened.send({ type: 'bot-llm-text' });
    opened.speaker.enqueue(tone(600, 24_000, 60));
    opened.heard.length = 0;
    await waitFor(() => pitch(opened.heard) > 0 && pitch(caller.ear.frames) > 0);
    await clock.advanceBy(60_000);
    expect(opened.ended).toBeUndefined();
  });

  it('says nothing after 10 seconds where one is open', async () => {
    const { voice, clock, line, warnings } = await startLinesByHand();
    const caller = await dial(voice);
    await line();
    await caller.channel();
    await clock.advanceBy(20_000);
    expect(warnings()).toEqual([]);
  });

  it('keeps what is sent before it opens, in order', async () => {
    const { voice, lines } = await startLines();
    const early = (index: number) => ({ type: 'bot-tts-text', data: index });
    // Where the server makes the channel, the caller's own library may hand over a message ahead of those that came before its channel's event.
    const caller = await dial(voice, { channel: 'client' });
    const line = await waitFor(() => lines[0]);
    for (let index = 0; index < 5; index += 1) line.send(early(index));
    await waitFor(() => caller.messages().length === 5);
    expect(caller.messages().map(({ data }) => data)).toEqual([0, 1, 2, 3, 4]);
  });

  it('still brings the last words of a line that is closed before it opens', async () => {
    const voice = await startVoice({
      substitutes: {
        converse: (line) => {
          line.send({ type: 'error', data: { message: 'no model' } });
          line.close('the call cannot be answered');
        },
      },
    });
    const caller = await dial(voice);
    await waitFor(() => caller.messages().length > 0);
    expect(caller.messages()).toEqual([{ label: 'rtvi-ai', type: 'error', data: { message: 'no model' } }]);
    await waitFor(() => caller.channels.every(({ readyState }) => readyState === 'closed'));
  });

  it('ignores what it does not understand, with a warning', async () => {
    const { voice, line, warnings } = await startLines();
    const caller = await dial(voice);
    const opened = await line();
    const channel = await caller.channel();
    channel.send(new Uint8Array([1, 2, 3]));
    const bad = [
      'no json',
      '{"label":"other","type":"x"}',
      '{"label":"rtvi-ai"}',
      '[]',
      'x'.repeat(65 * 1024),
    ];
    for (const text of bad) await caller.tell(text);
    await caller.tell(ready);
    await waitFor(() => opened.told.length > 0);
    expect(opened.told.map(({ type }) => type)).toEqual(['client-ready']);
    expect(warnings().filter((words) => words.includes('ignored')).length).toBe(6);
    for (let index = 0; index < 100; index += 1) await caller.tell('still no json');
    await caller.tell(ready);
    await waitFor(() => opened.told.length === 2);
    expect(warnings().length).toBe(20);
  });
});

describe('keepalive', () => {
  it('sends a ping every second', async () => {
    const { voice, clock, line } = await startLinesByHand();
    const caller = await dial(voice);
    await line();
    await caller.channel();
    await clock.advanceBy(3000);
    await waitFor(() => caller.received.length === 3);
    expect(caller.received).toEqual(['ping: 1000', 'ping: 2000', 'ping: 3000']);
  });

  it('takes a client that falls silent for three seconds as gone', async () => {
    const { voice, clock, line } = await startLinesByHand();
    const caller = await dial(voice);
    const opened = await line();
    await caller.tell('ping: 1');
    for (let second = 0; second < 6; second += 1) {
      await caller.tell(`ping: ${second}`);
      await caller.tell(ready);
      await waitFor(() => opened.told.length > second);
      await clock.advanceBy(1000);
    }
    expect(opened.ended).toBeUndefined();
    await clock.advanceBy(2000);
    expect(opened.ended).toBeUndefined();
    await clock.advanceBy(1000);
    expect(opened.ended).toBe('nothing was heard for 3 seconds');
  });

  it('does not wait for clients that never answered', async () => {
    const { voice, clock, line } = await startLinesByHand();
    const caller = await dial(voice);
    const opened = await line();
    await caller.channel();
    await clock.advanceBy(60_000);
    expect(opened.ended).toBeUndefined();
  });
});
