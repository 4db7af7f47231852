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

it('a measurement that ended the process is not tried at every start, one that gave way is', async () => {
  const directory = home();
  const path = join(directory, 'voice', 'speech', 'voices.json');
  let atTheEnd = '';
  const speeds = {
    get Kokoro() {
      atTheEnd = readFileSync(path, 'utf8');
      return quick;
    },
    Piper: quick,
  };
  const { speech } = open({ Piper: quick }, { directory });
  const caller = AbortSignal.abort(new Error('a caller came'));
  await expect(speech.chooseVoice(caller)).rejects.toThrow('a caller came');
  expect(await open(speeds, { directory }).choose()).toMatchObject({ voice: 'af_heart' });
  writeFileSync(path, atTheEnd);
  const next = open(speeds, { directory });
  expect(await next.choose()).toMatchObject({ voice: 'piper' });
  expect(next.speech.describe().voice?.reason).toContain('remove voice/speech/voices.json to measure again');
  expect(next.measured).toEqual([]);
});

it('a voice is not loaded to be measured where memory is short', async () => {
  const speak = vi.fn();
  const voice = { synthesizer: { speak }, memoryBytes: 2 ** 60 };
  await expect(measureVoice(voice, new AbortController().signal)).rejects.toThrow('of free memory');
  expect(speak).not.toHaveBeenCalled();
});

it('a voice that is named is not measured, and other languages have one voice', async () => {
  const named = open({ Kokoro: slow }, { env: { INPROC_VOICE: 'bf_emma' } });
  expect(await named.choose()).toMatchObject({ voice: 'bf_emma', chosen_by: 'setting' });
  expect(named.measured).toEqual([]);
  const spanish = open({ Kokoro: slow, Piper: quick }, { env: { INPROC_LANG: 'e' } });
  const reason = 'Kokoro is the only voice for Spanish.';
  expect(await spanish.choose()).toMatchObject({ voice: 'ef_dora', reason });
  expect(spanish.measured).toEqual([]);
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

it('a machine that is never idle is measured after an hour, and the reason says so', async () => {
  const clock = new FakeClock(0);
  const { speech, directory } = open({ Kokoro: slow, Piper: quick });
  const sessions = new SessionRegistry();
  const over = Promise.withResolvers<void>();
  const chooseVoice: typeof speech.chooseVoice = (...given) =>
    speech.chooseVoice(...given).then(over.resolve, over.reject);
  const isMachineBusy = () => true;
  const measurement = startIdleMeasurement({
    speech: { chooseVoice },
    sessions,
    isMachineBusy,
    clock,
    logger,
  });
  for (let minute = 0; minute < 59; minute += 1) await clock.advanceBy(60_000);
  expect(speech.describe().voice?.reason).toContain('or an hour after the start');
  await clock.advanceBy(120_000);
  await over.promise;
  expect(speech.describe().voice?.reason).toContain('The machine was busy with other work meanwhile.');
  const { reason } = recallChoice(join(directory, 'voice', 'speech'), 'a');
  expect(reason).toContain('The machine was busy with other work meanwhile.');
  await measurement.stop();
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
