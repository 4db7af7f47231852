import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { PiperSettings } from '../../../backends/inprocess.ts';
import { loggerInto } from '../../../speech.suite.ts';
import { WorkerHost } from '../../../worker/host.ts';
import { pinRuntime } from '../../../worker/thread.ts';
import type { Utterance, UtteranceWork } from '../local-voice.ts';

const work: UtteranceWork = { text: 'Yes.', voice: '5', language: 'a' };

const unpacked = [
  'en',
  'en-US',
  'en_dict',
  'intonations',
  'model.onnx',
  'phondata',
  'phonindex',
  'phontab',
  'tokens.txt',
];

it('is unpacked whole: by several threads at once, and also after a failure', async () => {
  const { path: directory, remove } = temporaryDirectory();
  onTestFinished(remove);
  const start = () => {
    const settings: PiperSettings = { directory, isSteady: true };
    const script = new URL('./piper.worker.ts', import.meta.url);
    const options = { name: 'the Piper voice', script, settings, timeoutMs: 300_000, logger: loggerInto([]) };
    const host = new WorkerHost(options);
    onTestFinished(() => host.close());
    return host;
  };
  const files = async () => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  };
  pinRuntime('sherpa-onnx-node');
  const hosts = [start(), start(), start()];
  const [first] = hosts;
  // What is unpacked cannot be moved to its place.
  const blocked = join(directory, 'tokens.txt');
  await mkdir(blocked);
  await writeFile(join(blocked, 'other'), '');
  await expect(first?.ask(work)).rejects.toThrow(`The file ${blocked} cannot be written`);
  expect((await files()).toSorted()).toEqual(['model.onnx', 'other']);
  await rm(blocked, { recursive: true });
  await rm(join(directory, 'model.onnx'));
  const sounds = await Promise.all(hosts.map((host) => host.ask<Utterance>(work)));
  for (const { samples } of sounds) expect(samples.length).toBeGreaterThan(5000);
  // Tests get the same sound each time.
  const [sound, ...others] = sounds.map(({ samples }) => samples);
  for (const other of others) {
    expect(other.length).toBe(sound?.length);
    expect(Math.max(...other.map((sample, at) => Math.abs(sample - (sound?.[at] ?? 0))))).toBeLessThan(0.01);
  }
  expect((await files()).toSorted()).toEqual(unpacked);
});
