import { describe, expect, it } from 'vitest';
import { removeSelfSpeech } from './echo-filter.ts';

const spoken = 'The museum opens at nine, and it closes at six in the evening.';

describe('what is heard while the bot speaks', () => {
  it.each([
    ['the museum opens at nine', ''],
    ['opens at nine and it closes', ''],
    ['museum', ''],
    ['the museum opened at nine and it closes', ''],
    ['please stop now', 'please stop now'],
    ['stop', 'stop'],
    ['opens at nine and stop it please', 'stop it please'],
    ['no wait when does it close on Sundays', 'no wait when does it close on Sundays'],
    ['What about Monday?', 'What about Monday?'],
    ['', ''],
  ])('%j is %j without the bot’s own words', (heard, own) => {
    expect(removeSelfSpeech(heard, spoken)).toBe(own);
  });

  it('is all the caller’s own while the bot says nothing', () => {
    expect(removeSelfSpeech('the museum opens', '')).toBe('the museum opens');
  });
});
