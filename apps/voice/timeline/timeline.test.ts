import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FakeClock, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Stage, type StageSetup } from '../cases/harness/stage.suite.ts';
import { scriptedVoices } from '../cases/harness/voices.suite.ts';
import { CallRecorder, openRecorder } from './recorder.ts';
import { renderTimeline } from './render.ts';
import { heardGapsMs, itemsOf, type Timeline } from './timeline.ts';

const drop = () => undefined;
const logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => logger };

function recorderIn(keep: number) {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  const directory = join(path, 'calls');
  return { directory, recorder: new CallRecorder({ directory, keep, logger }) };
}

it('keeps the timeline of a call: who spoke, what was understood, each decision and its reason', async () => {
  const { directory, recorder } = recorderIn(5);
  const stage = new Stage({
    answers: [
      { to: 'open', text: 'The museum opens at nine, and it closes at six in the evening.' },
      { to: 'Monday', text: 'It is closed on Mondays.' },
    ],
    recorder,
  });
  onTestFinished(() => stage.close());
  const caller = await stage.call();
  await stage.say('When does the museum open?');
  await stage.until(() => caller.speaker.sounding);
  await stage.pass(600);
  await stage.say('no wait, what about Monday?');
  await stage.until(() => JSON.stringify(caller.received).includes('Mondays'));
  await stage.pass(3000);
  caller.close('hung up');
  await recorder.settle();

  const [page, picture] = readdirSync(directory).toSorted();
  expect([page, picture]).toEqual([expect.stringMatching(/\.html$/), expect.stringMatching(/\.svg$/)]);
  const html = readFileSync(join(directory, page ?? ''), 'utf8');
  expect(html).toContain('Call of default with default');
  for (const words of [
    'When does the museum open?',
    'interrupt',
    'is an order or a correction',
    'end of turn',
    'the sentence is whole',
  ])
    expect(html).toContain(words);
  expect(html).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  // A client that did not ask for decisions is sent none.
  expect(JSON.stringify(caller.received)).not.toContain('"decision"');
});

it('shows that a short sound like a voice paused the bot, and that it went on', async () => {
  const { directory, recorder } = recorderIn(5);
  const answers = [{ text: 'The museum opens at nine, and it closes at six in the evening.' }];
  const stage = new Stage({ answers, recorder });
  onTestFinished(() => stage.close());
  const caller = await stage.call();
  await stage.say('When does the museum open?');
  await stage.until(() => stage.heard().includes('nine'));
  await stage.sound(new Int16Array(16 * 110).fill(12_000));
  await stage.until(() => stage.heard().endsWith('evening.'));
  caller.close('hung up');
  await recorder.settle();
  const [page] = readdirSync(directory).toSorted();
  const html = readFileSync(join(directory, page ?? ''), 'utf8');
  for (const reason of ['surely a voice, before speech is certain', 'no speech, nor a voice for 250 ms'])
    expect(html).toContain(reason);
});

it('gives the true reason why a draft is thrown away, and why a turn ends', async () => {
  const { directory, recorder } = recorderIn(5);
  const callWith = async (setup: StageSetup, meet: (stage: Stage) => Promise<void>) => {
    const stage = new Stage({ ...setup, recorder });
    onTestFinished(() => stage.close());
    const caller = await stage.call();
    await stage.say('When does the museum open?');
    await meet(stage);
    caller.close('hung up');
    await recorder.settle();
    const page = readdirSync(directory).toSorted().at(-2);
    return readFileSync(join(directory, page ?? ''), 'utf8');
  };
  const written = await callWith({}, async (stage) => {
    await stage.until(() => stage.model.prompts.length > 0);
    stage.caller.tell({ type: 'send-text', data: { content: 'Hello' } });
    await stage.pass(500);
  });
  expect(written).toContain('a written message came');
  expect(written).not.toContain('the caller went on');
  const voices = (clock: FakeClock) => scriptedVoices(clock, { recognition: 20_000 });
  const overdue = await callWith({ voices }, (stage) => stage.pass(12_000));
  expect(overdue).toContain('the transcript is overdue');
  expect(overdue).not.toContain('of silence end the turn');
});

it('keeps only as many as the operator wants', async () => {
  const { directory, recorder } = recorderIn(2);
  for (let call = 0; call < 4; call += 1)
    await recorder.open({ userId: `user-${call}`, skill: 'default', now: () => call }).close();
  const files = readdirSync(directory).toSorted();
  expect(files).toHaveLength(4);
  expect(readFileSync(join(directory, files[0] ?? ''), 'utf8')).toContain('user-2');
});

it('keeps the calls that ended last, however long ago they began', async () => {
  const { directory, recorder } = recorderIn(1);
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-17T10:00:00Z') });
  onTestFinished(() => void vi.useRealTimers());
  const long = recorder.open({ userId: 'long', skill: 'default', now: () => 0 });
  vi.setSystemTime(new Date('2026-11-17T10:05:00Z'));
  await recorder.open({ userId: 'short', skill: 'default', now: () => 0 }).close();
  vi.setSystemTime(new Date('2026-11-17T10:30:00Z'));
  await long.close();
  const [page] = readdirSync(directory).toSorted();
  expect(readFileSync(join(directory, page ?? ''), 'utf8')).toContain('Call of long');
});

it('removes those of before when it starts with a smaller number, and no other file', async () => {
  const { directory, recorder } = recorderIn(3);
  for (const userId of ['first', 'second', 'third'])
    await recorder.open({ userId, skill: 'default', now: () => 0 }).close();
  writeFileSync(join(directory, 'notes.html'), 'mine');
  expect(await openRecorder({ directory, keep: 1, logger })).toBeInstanceOf(CallRecorder);
  const [page, picture, ...others] = readdirSync(directory).toSorted();
  expect(readFileSync(join(directory, page ?? ''), 'utf8')).toContain('Call of third');
  expect([picture, others]).toEqual([expect.stringMatching(/\.svg$/), ['notes.html']]);
  expect(await openRecorder({ directory, keep: 0, logger })).toBeUndefined();
  expect(readdirSync(directory)).toEqual(['notes.html']);
});

const timeline: Timeline = {
  title: 'a <b>.wav',
  startedAt: new Date(0),
  lengthMs: 9000,
  sound: {
    caller: [
      { fromMs: 0, toMs: 1000 },
      { fromMs: 6000, toMs: 7000 },
    ],
    bot: [{ fromMs: 1900, toMs: 5000 }],
  },
  events: [
    { atMs: 10, message: { type: 'user-started-speaking' } },
    { atMs: 1400, message: { type: 'user-stopped-speaking' } },
    { atMs: 1450, message: { type: 'user-transcription', data: { text: 'partial', final: false } } },
    { atMs: 1500, message: { type: 'user-transcription', data: { text: '<script>&"\u0001', final: true } } },
    {
      atMs: 1600,
      message: {
        type: 'llm-function-call-started',
        data: { tool_call_id: '1', function_name: 'order', arguments: {} },
      },
    },
    { atMs: 1700, message: { type: 'bot-started-speaking' } },
    { atMs: 1800, message: { type: 'bot-tts-text', data: { text: 'One' } } },
    { atMs: 1900, message: { type: 'bot-tts-text', data: { text: 'moment.' } } },
    { atMs: 2100, message: { type: 'bot-stopped-speaking' } },
    { atMs: 2110, message: { type: 'bot-interrupted' } },
    {
      atMs: 3000,
      message: {
        type: 'llm-function-call-stopped',
        data: { tool_call_id: '1', result: 'done', cancelled: false },
      },
    },
    { atMs: 8000, message: { type: 'user-started-speaking' } },
  ],
};

it('joins what begins with one message and ends with another', () => {
  const items = itemsOf(timeline).map(({ track, fromMs, toMs, text, detail }) => [
    track,
    fromMs,
    toMs,
    text,
    detail,
  ]);
  expect(items).toEqual([
    ['Caller, as played', 0, 1000, '', undefined],
    ['Caller, as detected', 10, 1400, '', undefined],
    ['Understood', 1500, 1500, '<script>&"\u0001', undefined],
    ['Tools', 1600, 3000, 'order', '{} → done'],
    ['Bot, as sent', 1700, 2100, 'One moment.', 'interrupted'],
    ['Bot, as heard', 1900, 5000, '', undefined],
    ['Caller, as played', 6000, 7000, '', undefined],
    // Still open at the end.
    ['Caller, as detected', 8000, 9000, '', undefined],
  ]);
  expect(heardGapsMs(timeline)).toEqual([900]);
});

it('shows what was said as text, whatever it holds', async () => {
  for (const text of Object.values(await renderTimeline(timeline))) {
    expect(text).toContain('&lt;script&gt;&amp;&quot;');
    for (const raw of ['<script', '<b>', '\u0001']) expect(text).not.toContain(raw);
  }
});
