import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkWeights, nativeVoice, type Weights, weights } from './weights.ts';

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
