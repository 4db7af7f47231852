import { waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { pitch, startLines, tone } from '../media/lines.suite.ts';
import { heardGapsMs, itemsOf } from '../timeline/timeline.ts';
import { talk } from './talk.ts';

const silence = new Int16Array(48_000);

it('plays a recording to a service over WebRTC and gives the timeline of the call', async () => {
  const { voice, line } = await startLines();
  const said = Int16Array.from([...tone(440, 48_000, 1).samples, ...silence]);
  const call = talk({
    url: voice.url,
    headers: {},
    title: 'tone.wav',
    sound: said,
    quietMs: 3000,
    limitMs: 60_000,
    signal: AbortSignal.timeout(120_000),
  });
  const opened = await line();
  expect(opened.requestData).toEqual({ decisions: true });
  await waitFor(() => opened.told.some(({ type }) => type === 'client-ready'));
  opened.send({ type: 'bot-ready' });
  await waitFor(() => Math.abs(pitch(opened.heard) - 440) < 20);
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
  const call = talk({
    url: 'http://127.0.0.1:9',
    headers: {},
    title: 'none',
    sound: silence,
    quietMs: 1000,
    limitMs: 1000,
    signal: AbortSignal.timeout(60_000),
  });
  await expect(call).rejects.toThrow(/Cannot reach the voice service at http:\/\/127.0.0.1:9.*--url/);
});
