import { FakeClock } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { languageOf, languages } from '../../languages/languages.ts';
import type { Verbosity } from '../../skills/skill.ts';
import { Fillers } from './fillers.ts';

function open(verbosity: Verbosity, { acknowledges = true, quiet = (): boolean => true } = {}) {
  const clock = new FakeClock(0);
  const said: string[] = [];
  const say = (text: string) => said.push(`${clock.now()} ${text}`);
  const language = () => languageOf('en');
  const fillers = new Fillers({ clock, verbosity, language, acknowledges, isQuiet: quiet, say });
  return { clock, said, fillers };
}

const times = (said: string[]) => said.map((line) => Number(line.split(' ')[0]));

describe('fillers', () => {
  it.each([
    ['brief', 2, 4],
    ['narrated', 4, 8],
    ['chatty', 1, 12],
  ] as const)('%s says %i to %i words before a tool', (level, least, most) => {
    for (const text of languageOf('en').fillers[level].preambles) {
      const count = text.split(' ').length;
      expect(count, text).toBeGreaterThanOrEqual(least);
      expect(count, text).toBeLessThanOrEqual(most);
    }
  });

  it.each(Object.entries(languages))(
    '%s has phrases for every occasion, each ending a sentence',
    (_, language) => {
      const { fillers, apologies, backchannel, reprompt, repromptAgain, stillThere } = language;
      const { silent, ...spoken } = fillers;
      expect(Object.values(silent).flat()).toEqual([]);
      for (const [level, { acknowledgements, preambles, progress }] of Object.entries(spoken)) {
        expect([acknowledgements.length, preambles.length]).toEqual([3, 3]);
        expect(progress).toHaveLength(level === 'brief' ? 0 : 3);
      }
      const filled = Object.values(spoken).flatMap((kinds) => Object.values(kinds).flat());
      for (const text of [
        ...filled,
        ...Object.values(apologies),
        backchannel,
        reprompt,
        repromptAgain,
        stillThere,
      ])
        expect(text).toMatch(/^\S.*[.?।]$/);
    },
  );

  it('tells of progress at two seconds and every six after, in narrated and chatty alone', async () => {
    for (const level of ['silent', 'brief', 'narrated', 'chatty'] as const) {
      const { clock, said, fillers } = open(level);
      fillers.onTurnStarted();
      fillers.onText();
      fillers.onToolStarted('1');
      await clock.advanceBy(15_000);
      expect(times(said)).toEqual(level === 'silent' || level === 'brief' ? [] : [2000, 8000, 14_000]);
      fillers.onToolEnded('1');
      await clock.advanceBy(15_000);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it('says nothing about a tool that is quick', async () => {
    const { clock, said, fillers } = open('chatty');
    fillers.onTurnStarted();
    fillers.onToolStarted('1');
    await clock.advanceBy(600);
    fillers.onToolEnded('1');
    await clock.advanceBy(10_000);
    expect(said).toEqual([]);
  });

  it('leaves the preamble to a model that has said one', async () => {
    const { clock, said, fillers } = open('brief');
    fillers.onText();
    fillers.onToolStarted('1');
    await clock.advanceBy(5000);
    expect(said).toEqual([]);
  });

  it('acknowledges a turn whose answer is late, unless the skill does not want it', async () => {
    for (const [level, acknowledges, count] of [
      ['brief', true, 1],
      ['brief', false, 0],
      ['silent', true, 0],
    ] as const) {
      const { clock, said, fillers } = open(level, { acknowledges });
      fillers.onTurnStarted();
      await clock.advanceBy(999);
      expect(said).toEqual([]);
      await clock.advanceBy(5000);
      expect(said).toHaveLength(count);
    }
  });

  it('does not speak into what is being said, but soon after it', async () => {
    let quiet = false;
    const { clock, said, fillers } = open('narrated', { quiet: () => quiet });
    fillers.onToolStarted('1');
    await clock.advanceBy(3000);
    quiet = true;
    await clock.advanceBy(1000);
    expect(times(said)).toEqual([3500]);
    fillers.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
