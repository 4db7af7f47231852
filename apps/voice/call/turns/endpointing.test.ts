import { describe, expect, it } from 'vitest';
import { endpointingDelay, isLikelyEndOfTurn, isReplyDue, type Pause, SpeakingRate } from './endpointing.ts';

const pause = (text: string | undefined, more: Partial<Pause> = {}): Pause => ({
  text,
  tone: 'level',
  usualPauseMs: 0,
  ...more,
});

describe('endpointing: the end of a turn', () => {
  it.each([
    ['What is the weather in Paris?', 400],
    ['I am from Berlin', 550],
    ['Where do you come from?', 400],
    ['I would like to know the weather in', 1700],
    ['I went there because', 1700],
    ['Well, um', 1700],
    ['First the eggs,', 1700],
    ['I think...', 1700],
    ['My phone number is 555', 2000],
    ['My phone number is five five five', 2000],
    ['four two seven', 2000],
    ['My phone number is 555 123 4567', 550],
    ['My card number is 4111 1111 1111', 2000],
    ['What is 17 times 23?', 400],
    ['What about 3', 550],
    ['', 550],
  ])('after %j takes %i ms of silence', (text, needed) => {
    expect(endpointingDelay(pause(text))).toBe(needed);
  });

  it('comes sooner after a falling voice, later after one that rises without a question', () => {
    expect(endpointingDelay(pause('It is red.', { tone: 'falling' }))).toBe(350);
    expect(endpointingDelay(pause('It is red.', { tone: 'rising' }))).toBe(650);
    expect(endpointingDelay(pause('Is it red?', { tone: 'rising' }))).toBe(400);
    expect(endpointingDelay(pause('eggs', { tone: 'rising' }))).toBe(800);
  });

  it('waits for the words, and never longer than three seconds', () => {
    expect(endpointingDelay(pause(undefined))).toBe(3000);
    expect(endpointingDelay(pause('and', { usualPauseMs: 9000 }))).toBeLessThanOrEqual(3000);
  });

  it('lets the end-of-turn model decide, but not in the middle of a number', () => {
    expect(endpointingDelay(pause('I think that', { finished: 0.99 }))).toBe(250);
    expect(endpointingDelay(pause('I think that', { finished: 0.98 }))).toBe(300);
    expect(endpointingDelay(pause('It is red.', { finished: 0.69 }))).toBe(1050);
    expect(endpointingDelay(pause('It is red.', { finished: 0.3 }))).toBe(1700);
    expect(endpointingDelay(pause('It is red.', { finished: 0.09 }))).toBe(2100);
    expect(endpointingDelay(pause('my code is 4 7', { finished: 0.99 }))).toBe(2000);
  });

  it('adapts to a speaker who pauses long in mid-thought', () => {
    const speakingRate = new SpeakingRate();
    const needed = () => endpointingDelay(pause('It is red.', { usualPauseMs: speakingRate.usualPauseMs }));
    speakingRate.notePause(900);
    speakingRate.notePause(900);
    expect(needed()).toBe(400);
    speakingRate.notePause(900);
    expect(needed()).toBe(1050);
    for (let times = 0; times < 12; times += 1) speakingRate.notePause(200);
    expect(needed()).toBe(400);
  });

  it('learns at once from having cut somebody off', () => {
    const speakingRate = new SpeakingRate();
    speakingRate.noteFalseEndpoint(700);
    expect(endpointingDelay(pause('It is red.', { usualPauseMs: speakingRate.usualPauseMs }))).toBe(850);
    speakingRate.noteFalseEndpoint(60_000);
    expect(endpointingDelay(pause('It is red.', { usualPauseMs: speakingRate.usualPauseMs }))).toBe(1500);
  });

  it('has a reply generated at once where no more is to be expected, else one second before the turn ends', () => {
    const dueAfter = (given: Pause) =>
      Array.from({ length: 31 }, (_, index) => index * 100).find((ms) => isReplyDue(given, ms));
    expect(dueAfter(pause('What is the weather?'))).toBe(0);
    expect(dueAfter(pause('What is the weather in'))).toBe(700);
    expect(dueAfter(pause('my pin is 4 7'))).toBe(1000);
    expect(dueAfter(pause('It is red.', { finished: 0.05 }))).toBe(1100);
    expect(dueAfter(pause(undefined))).toBeUndefined();
  });

  it('knows where no more is to be expected', () => {
    expect(isLikelyEndOfTurn(pause('What is the weather?'))).toBe(true);
    expect(isLikelyEndOfTurn(pause('What is the weather in'))).toBe(false);
    expect(isLikelyEndOfTurn(pause('my pin is 4 7'))).toBe(false);
    expect(isLikelyEndOfTurn(pause(undefined))).toBe(false);
    expect(isLikelyEndOfTurn(pause('It is red', { finished: 0.5 }))).toBe(true);
    expect(isLikelyEndOfTurn(pause('It is red.', { finished: 0.49 }))).toBe(false);
  });
});
