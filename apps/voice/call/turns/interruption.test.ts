import { describe, expect, it } from 'vitest';
import { languageOf } from '../../languages/languages.ts';
import { judgeInterruption } from './interruption.ts';

describe('barge-in: speech while the bot speaks', () => {
  const judge = (speechMs: number, words: string | undefined, over = false, asks = false) =>
    judgeInterruption({ speechMs, words, over, selfSpeech: false, asks }).verdict;

  it('waits, then pauses the bot, while nothing is understood', () => {
    expect(judge(300, undefined)).toBe('wait');
    expect(judge(499, undefined)).toBe('wait');
    expect(judge(500, undefined)).toBe('pause');
  });

  it.each(['mhm', 'Mm-hmm.', 'Yeah, right.', 'I see', 'uh huh', 'Okay.', 'oh really', 'um'])(
    'ignores the backchannel %j however long it lasts',
    (words) => {
      expect(judge(900, words)).toBe('ignore');
      expect(judge(200, words, true)).toBe('ignore');
    },
  );

  it.each([
    ['es', 'vale, claro', 'ignore'],
    ['es', 'espera', 'interrupt'],
    ['fr', "d'accord", 'ignore'],
    ['fr', 'attendez', 'interrupt'],
    ['it', 'ho capito', 'ignore'],
    ['it', 'basta', 'interrupt'],
    ['pt', 'tá bom', 'ignore'],
    ['pt', 'espere', 'interrupt'],
    ['hi', 'ठीक है', 'ignore'],
    ['hi', 'रुकिए', 'interrupt'],
    ['en', 'vale claro', 'interrupt'],
  ])('in %s takes %j: %s', (code, words, verdict) => {
    const overlap = { speechMs: 250, words, over: false, selfSpeech: false, asks: false };
    expect(judgeInterruption({ ...overlap, language: languageOf(code) }).verdict).toBe(verdict);
  });

  it.each([
    ['a stop word', 250, 'Stop!'],
    ['two words', 250, 'what about'],
    ['one word that lasts', 350, 'Berlin'],
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
  });

  it('ignores a single short word and self-speech', () => {
    expect(judge(250, 'Berlin')).toBe('wait');
    expect(judge(250, 'Berlin', true)).toBe('ignore');
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
