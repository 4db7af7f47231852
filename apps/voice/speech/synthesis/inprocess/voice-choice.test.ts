import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, readOptions } from '@trunkline/config';
import { FakeClock, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { voiceOptions } from '../../../options.ts';
import { SessionRegistry } from '../../../sessions/registry.ts';
import { startIdleMeasurement } from '../../idle-measurement.ts';
import { createSidecarClient } from '../../sidecar/client.ts';
import { createSpeechParts } from '../../speech.ts';
import { type MeasureVoice, measureVoice, recallChoice, type VoiceSpeed } from './voice-choice.ts';

const drop = () => undefined;
const logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => logger };
const quick: VoiceSpeed = { firstSoundMs: 120, realTimeFactor: 0.1 };
const slow: VoiceSpeed = { firstSoundMs: 790, realTimeFactor: 0.4 };
const holed: VoiceSpeed = { firstSoundMs: 300, realTimeFactor: 0.9 };

function home(): string {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  return path;
}

function open(speeds: Record<string, VoiceSpeed>, { directory = home(), env = {} as Environment } = {}) {
  const options = readOptions(voiceOptions, {
    env: { TTS_BACKEND: 'inprocess', INPROC_VOICE: 'auto', TRUNKLINE_HOME: directory, ...env },
  });
  const measured: string[] = [];
  const measureVoice: MeasureVoice = async ({ title }) => {
    measured.push(title);
    const speed = speeds[title];
    if (speed === undefined) throw new Error('its weights are absent');
    return speed;
  };
  const sidecar = createSidecarClient({ url: options.sidecarUrl, timeoutMs: 1000 });
  const speech = createSpeechParts(options, {
    sidecar,
    directory: join(directory, 'voice', 'speech'),
    measureVoice,
    logger,
  });
  onTestFinished(() => speech.close());
  const choose = async () => {
    await speech.chooseVoice(new AbortController().signal);
    return speech.describe().voice;
  };
  return { speech, choose, measured, directory };
}

it('the fastest voice speaks until the voices are measured', () => {
  const { voice } = open({}).speech.describe();
  expect(voice).toMatchObject({ voice: 'piper', chosen_by: 'machine' });
  expect(voice?.reason).toContain('until the voices are measured');
});

it('the best voice that is fast enough speaks, and the reason says what was measured', async () => {
  expect(await open({ Kokoro: quick, Piper: quick }).choose()).toMatchObject({ voice: 'af_heart' });
  const chosen = await open({ Kokoro: slow, Piper: quick }).choose();
  expect(chosen).toMatchObject({ voice: 'piper', chosen_by: 'machine' });
  expect(chosen?.reason).toContain('Kokoro is too slow on this machine: 790 ms to the first sound');
  expect(await open({ Kokoro: holed, Piper: quick }).choose()).toMatchObject({ voice: 'piper' });
  expect(await open({ Kokoro: slow, Piper: slow }).choose()).toMatchObject({ voice: 'piper' });
});

it('a machine is measured once; another processor, and a voice that did not speak, are measured again', async () => {
  const first = open({ Kokoro: quick, Piper: quick });
  await first.choose();
  const { directory } = first;
  const second = open({ Kokoro: slow, Piper: quick }, { directory });
  expect(second.speech.describe().voice).toMatchObject({ voice: 'af_heart' });
  expect(await second.choose()).toMatchObject({ voice: 'af_heart' });
  expect(second.measured).toEqual([]);
  const path = join(directory, 'voice', 'speech', 'voices.json');
  const kept = readFileSync(path, 'utf8');
  writeFileSync(path, kept.replace(/"machine": "[^"]*"/, '"machine": "another processor"'));
  const third = open({ Kokoro: slow, Piper: quick }, { directory });
  expect(await third.choose()).toMatchObject({ voice: 'piper' });
  expect(third.measured).toEqual(['Kokoro', 'Piper']);
  writeFileSync(path, '{ broken');
  const mute = open({ Piper: quick }, { directory });
  expect((await mute.choose())?.reason).toBe('Kokoro does not speak: its weights are absent');
  expect(await open({ Kokoro: quick, Piper: quick }, { directory }).choose()).toMatchObject({
    voice: 'af_heart',
  });
});

it('a voice that is named is not measured, and other languages have one voice', async () => {
  const named = open({ Kokoro: slow }, { env: { INPROC_VOICE: 'bf_emma' } });
  expect(await named.choose()).toMatchObject({ voice: 'bf_emma', chosen_by: 'setting' });
  expect(named.measured).toEqual([]);
  const spanish = await open({ Kokoro: slow, Piper: quick }, { env: { INPROC_LANG: 'e' } }).choose();
  expect(spanish).toMatchObject({ voice: 'ef_dora', reason: 'Kokoro is the only voice for Spanish.' });
});

it('doctor tells the choice of an earlier start', async () => {
  const { choose, directory } = open({ Kokoro: slow, Piper: quick });
  const chosen = await choose();
  expect(recallChoice(join(directory, 'voice', 'speech'), 'a')).toEqual(chosen);
});

it('times the first sound and the whole, and takes the best of several tries', async () => {
  const clock = new FakeClock(0);
  let spoken = 0;
  const synthesizer = {
    async *speak() {
      spoken += 1;
      // The first time the model loads, and the second time something else uses the machine.
      await clock.advanceBy(spoken === 1 ? 5000 : spoken === 2 ? 900 : 200);
      yield { samples: new Int16Array(16_000), sampleRate: 16_000 };
      await clock.advanceBy(100);
      yield { samples: new Int16Array(16_000), sampleRate: 16_000 };
    },
  };
  const speed = await measureVoice({ synthesizer }, new AbortController().signal, clock.now);
  expect(speed).toEqual({ firstSoundMs: 200, realTimeFactor: 0.15 });
});

it('voices are measured when nobody calls and the machine is idle, and every caller comes first', async () => {
  const [clock, sessions] = [new FakeClock(0), new SessionRegistry()];
  const signals: AbortSignal[] = [];
  let isBusy = true;
  const chooseVoice = vi.fn(
    (signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signals.push(signal);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  );
  const measurement = startIdleMeasurement({
    speech: { chooseVoice },
    sessions,
    isMachineBusy: () => isBusy,
    clock,
    logger,
  });
  await clock.advanceBy(20_000);
  expect(chooseVoice).not.toHaveBeenCalled();
  isBusy = false;
  await clock.advanceBy(60_000);
  expect(chooseVoice).toHaveBeenCalledTimes(1);
  const hangUp = sessions.open({ id: 'one', userId: 'ada', offer: drop });
  expect(signals[0]?.aborted).toBe(true);
  await clock.advanceBy(60_000);
  expect(chooseVoice).toHaveBeenCalledTimes(1);
  hangUp();
  await clock.advanceBy(60_000);
  expect(chooseVoice).toHaveBeenCalledTimes(2);
  await measurement.stop();
  expect([signals[1]?.aborted, clock.pendingTimers]).toEqual([true, 0]);
});
