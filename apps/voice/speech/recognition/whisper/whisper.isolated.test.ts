import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeSound } from '../../audio/decode.ts';
import { toMono } from '../../audio/resample.ts';
import { openSpeech } from '../../speech.suite.ts';
import { checkWeights, weights } from '../../weights.ts';
import { readVocabulary } from './model.ts';

const entries = weights.filter(({ purpose }) => purpose === 'recognition of many languages');
const states = await Promise.all(entries.map((entry) => checkWeights(entry)));
const isInstalled = states.every((state) => state === 'ready');

it('its vocabulary puts letters together that span tokens', () => {
  const { textOf } = readVocabulary(JSON.stringify({ Ġma: 0, Ã: 1, '±ana': 2, 'Ġ?': 3 }));
  expect(textOf([0, 1, 2, 3])).toBe('mañana ?');
});

describe.runIf(isInstalled)('Whisper', () => {
  // Spanish is understood in recognisers.isolated.test.ts, in a whole call.
  it('understands Italian, and hears that it is', async () => {
    const { recognizer } = openSpeech({ STT_BACKEND: 'whisper' });
    const file = readFileSync(join(import.meta.dirname, '../fixtures/italian.ogg'));
    const heardLanguages: string[] = [];
    const heard = await recognizer.recognize(await toMono(await decodeSound(file, 10), 16_000), {
      final: true,
      caller: 'it',
      onLanguage: (language) => heardLanguages.push(language),
    });
    const words = new Set(heard.toLowerCase().match(/\p{L}+/gu));
    const text = 'buongiorno vorrei sapere a che ora parte il treno per milano';
    const missed = text.split(' ').filter((word) => !words.has(word));
    expect(missed.length, heard).toBeLessThanOrEqual(1);
    expect(heardLanguages).toEqual(['it']);
  });
});
