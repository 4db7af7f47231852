import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { pitch, startLines, tone } from '../media/lines.suite.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { heardGapsMs, itemsOf } from '../timeline/timeline.ts';
import { talk } from './talk.ts';

const silence = new Int16Array(48_000);

function callTo(url: string, sound = silence, quietMs = 1000) {
  const signal = AbortSignal.timeout(120_000);
  return talk({ url, headers: {}, title: 'tone.wav', sound, quietMs, limitMs: 60_000, signal });
}

/** Whether a tone was heard at any time: on a busy machine it may be over when one looks. */
function hears(frames: readonly AudioFrame[], hertz: number): boolean {
  const loud = frames.filter(({ samples }) => samples.some((sample) => sample > 500));
  return loud.some((_, index) => {
    const window = loud.slice(index, index + 20);
    return index % 10 === 0 && window.length === 20 && Math.abs(pitch(window) - hertz) < 20;
  });
}

it('plays a recording to a service over WebRTC and gives the timeline of the call', async () => {
  const { voice, line } = await startLines();
  // A long silence: it keeps the call open until the service says that it works.
  const said = new Int16Array(9 * 48_000);
  said.set(tone(440, 48_000, 1).samples);
  const call = callTo(voice.url, said, 3000);
  const opened = await line();
  expect(opened.requestData).toEqual({ decisions: true });
  await waitFor(() => opened.told.some(({ type }) => type === 'client-ready'));
  opened.send({ type: 'bot-ready' });
  await waitFor(() => hears(opened.heard, 440));
  // While a reply is generated the call stays open, however slow the machine is.
  opened.send({ type: 'bot-llm-started' });
  await waitFor(() => pitch(opened.heard) === 0);
  opened.send({
    type: 'server-message',
    data: { type: 'decision', decision: 'end-of-turn', reason: 'a test' },
  });
  opened.speaker.onDrained(() => opened.send({ type: 'bot-llm-stopped' }));
  opened.speaker.enqueue(tone(600, 24_000, 1));

  const timeline = await call;
  expect(timeline.sound?.caller).toHaveLength(1);
  expect(heardGapsMs(timeline)).toHaveLength(1);
  expect(itemsOf(timeline)).toContainEqual(
    expect.objectContaining({ track: 'Decisions', text: 'end of turn', detail: 'a test' }),
  );
  await waitFor(() => opened.ended);
});

it('says what to do where no service answers', async () => {
  const call = callTo('http://127.0.0.1:9');
  await expect(call).rejects.toThrow(/Cannot reach the voice service at http:\/\/127.0.0.1:9.*--url/);
});

it('says what to do where something else answers', async () => {
  const server = createServer((_, response) => void response.end('{hello'));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(callTo(`http://127.0.0.1:${port}`)).rejects.toThrow(/is no voice service.*--url/);
});

it('says so at once where the service ends the call before its greeting is over', async () => {
  const { voice, line } = await startLines();
  const failure = expect(callTo(voice.url)).rejects.toThrow(/ended the call before/);
  const opened = await line();
  await waitFor(() => opened.told.some(({ type }) => type === 'client-ready'));
  opened.send({ type: 'bot-ready' });
  opened.send({ type: 'bot-llm-started' });
  opened.close('the service is full');
  await failure;
});
