import { describe, expect, it } from 'vitest';
import { judgeInterruption } from './interruption.ts';

describe('barge-in: speech while the bot speaks', () => {
  const judge = (speechMs: number, words: string | undefined, over = false, asks = false) =>
    judgeInterruption({ speechMs, words, over, selfSpeech: false, asks }).verdict;

  it.each([
    ['at once for what is surely a voice', 0.9, 190],
    ['later for what may be none', 0.7, 500],
  ])('waits, then pauses the bot, while nothing is understood: %s', (_, voiceProbability, pauseMs) => {
    const overlap = { words: undefined, over: false, selfSpeech: false, asks: false, voiceProbability };
    expect(judgeInterruption({ ...overlap, speechMs: pauseMs - 1 }).verdict).toBe('wait');
    expect(judgeInterruption({ ...overlap, speechMs: pauseMs }).verdict).toBe('pause');
  });

  it.each([
    ['waits while it is surely a voice', 0.9, false, 'wait'],
    ['ignores it when that was all', 0.9, true, 'ignore'],
    ['ignores what may be no voice', 0.7, false, 'ignore'],
  ])('where only the words of the bot are understood, %s', (_, voiceProbability, over, verdict) => {
    const overlap = { speechMs: 500, words: '', over, selfSpeech: false, asks: false, voiceProbability };
    expect(judgeInterruption(overlap).verdict).toBe(verdict);
  });

  it.each(['mhm', 'Mm-hmm.', 'Yeah, right.', 'I see', 'uh huh', 'Okay.', 'oh really', 'um'])(
    'ignores the backchannel %j',
    (words) => {
      expect(judge(900, words)).toBe('ignore');
      expect(judge(200, words, true)).toBe('ignore');
    },
  );

  it.each([
    ['is long', { speechMs: 1300, words: 'Okay.' }],
    ['is loud', { words: 'Okay!', raised: true }],
    ['asks something', { words: 'Okay?' }],
    ['goes on to more', { words: 'Yeah, but when?' }],
    ['is many words', { words: 'yeah yeah yeah yeah' }],
  ])('hears what would be a backchannel but %s', (_, given) => {
    const overlap = { speechMs: 500, over: true, selfSpeech: false, asks: false };
    expect(judgeInterruption({ ...overlap, ...given }).verdict).toBe('interrupt');
  });

  it('takes "Right?" for a backchannel where the voice does not rise, as recognisers write it for a mere "right"', () => {
    const overlap = { speechMs: 500, words: 'Right?', over: true, selfSpeech: false, asks: false };
    const verdict = (rises: boolean) => judgeInterruption({ ...overlap, rises }).verdict;
    expect([verdict(false), verdict(true)]).toEqual(['ignore', 'interrupt']);
  });

  it('keeps a backchannel that comes as the bot finishes', () => {
    const overlap = { speechMs: 400, words: 'Okay.', over: true, selfSpeech: false, asks: false };
    expect(judgeInterruption({ ...overlap, ending: true }).verdict).toBe('answer');
  });

  it.each([
    ['vale, claro', 'ignore'],
    ['espera', 'interrupt'],
    ["d'accord", 'ignore'],
    ['attendez', 'interrupt'],
    ['ho capito', 'ignore'],
    ['basta', 'interrupt'],
    ['tá bom', 'ignore'],
    ['espere', 'interrupt'],
    ['ठीक है', 'ignore'],
    ['रुकिए', 'interrupt'],
    ['ja, genau', 'ignore'],
    ['ach so', 'ignore'],
    ['nein', 'interrupt'],
    ['warte mal', 'interrupt'],
  ])('takes %j of any language: %s', (words, verdict) => {
    expect(judge(250, words)).toBe(verdict);
  });

  it.each(['sluta', 'vänta', 'przestań', 'czekaj', 'dur', 'hayır', 'やめて', '待って', 'Köln', 'Marmelade'])(
    'hears %j, which the model has not learnt',
    (words) => expect(judge(250, words, true)).toBe('interrupt'),
  );

  it.each([
    ['a stop word', 250, 'Stop!'],
    ['two words', 250, 'what about'],
    ['one word that lasts', 800, 'Berlin'],
    ['a backchannel that goes on to more', 900, 'yeah but what about Monday'],
  ])('is interrupted by %s', (_, speechMs, words) => {
    expect(judge(speechMs, words)).toBe('interrupt');
  });

  it('ignores a voice that is further away than the caller, unless it says to stop', () => {
    const far = { speechMs: 900, over: false, selfSpeech: false, asks: false, far: true };
    const verdict = (words: string | undefined, over = false) =>
      judgeInterruption({ ...far, words, over }).verdict;
    expect(verdict(undefined)).toBe('wait');
    expect(verdict('and then she told me about it')).toBe('ignore');
    expect(verdict('', true)).toBe('ignore');
    expect(verdict('wait a moment')).toBe('interrupt');
    expect(verdict('stop')).toBe('interrupt');
    for (const word of ['hello', 'what', 'thanks', 'actually']) expect(verdict(word)).toBe('ignore');
  });

  it('pauses for interim words of what may be no voice, and interrupts when they are final or go on', () => {
    const coughing = { speechMs: 500, over: false, selfSpeech: false, asks: false, voiceProbability: 0.7 };
    const verdict = (given: object) =>
      judgeInterruption({ ...coughing, words: "It's like.", ...given }).verdict;
    expect(verdict({})).toBe('pause');
    expect(verdict({ voiceProbability: 0.9 })).toBe('interrupt');
    expect(verdict({ over: true })).toBe('interrupt');
    expect(verdict({ speechMs: 1500 })).toBe('interrupt');
    expect(verdict({ words: 'But' })).toBe('pause');
    expect(verdict({ words: 'But', over: true })).toBe('interrupt');
    expect(verdict({ words: '', over: true })).toBe('ignore');
  });

  it('pauses for a single short word, and hears it', () => {
    expect(judge(250, 'Berlin')).toBe('pause');
    expect(judge(250, 'Berlin', true)).toBe('interrupt');
  });

  it('ignores a short word that may be no voice, unless it is an order or an answer', () => {
    const cough = { speechMs: 300, words: 'Hook', over: true, selfSpeech: false, asks: false };
    const verdict = (given: object) =>
      judgeInterruption({ ...cough, voiceProbability: 0.65, ...given }).verdict;
    expect(verdict({})).toBe('ignore');
    expect(verdict({ over: false })).toBe('wait');
    expect(verdict({ voiceProbability: 0.9 })).toBe('interrupt');
    expect(verdict({ speechMs: 450 })).toBe('interrupt');
    expect(verdict({ words: 'Stop' })).toBe('interrupt');
    expect(verdict({ asks: true })).toBe('answer');
  });

  it('ignores what is no word, and self-speech', () => {
    expect(judge(2000, '')).toBe('ignore');
    expect(judge(900, '', true)).toBe('ignore');
    expect(
      judgeInterruption({ speechMs: 900, words: 'easy hole', over: false, selfSpeech: true, asks: true })
        .verdict,
    ).toBe('ignore');
  });

  it.each(['Sure.', 'Okay', 'Yes', 'Yeah, sure.', 'Right', 'Berlin', 'sí', 'ja'])(
    'keeps %j as the answer to the question that is being asked',
    (words) => {
      expect(judge(250, words, true, true)).toBe('answer');
      expect(judge(250, words, false, true)).toBe('answer');
    },
  );

  it('is interrupted in a question as anywhere else', () => {
    expect(judge(250, 'No!', false, true)).toBe('interrupt');
    expect(judge(400, 'not on Monday please', false, true)).toBe('interrupt');
    expect(judge(900, '', true, true)).toBe('ignore');
  });
});
