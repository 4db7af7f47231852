import { describe, expect, it } from 'vitest';
import { ask, step } from './demo.suite.ts';
import { demoNotice } from './reply.ts';
import { summarise } from './summary.ts';

const tides = [
  'Tidal power turns the movement of the tides into electricity.',
  'The first large tidal power station opened in 1966 on the Rance in France.',
  'Visitors like the nearby bakery.',
  'Tidal power is predictable, because the tides follow the moon.',
  'Building a tidal power station is expensive.',
  'Some fear that tidal power harms fish in the estuary.',
].join(' ');

describe('summaries', () => {
  it('keep what the text is about, in its order, word for word', () => {
    const summary = summarise(tides, { sentences: 3 });
    expect(summary).not.toContain('bakery');
    expect(summary.startsWith('Tidal power turns')).toBe(true);
    for (const sentence of summary.split(/(?<=\.) /)) expect(tides).toContain(sentence);
  });

  it('turn around the question when there is one', () => {
    expect(summarise(tides, { sentences: 1, focus: 'fish in the estuary' })).toContain('harms fish');
  });

  it('carry the number of the source they come from', () => {
    const sources = `[1] The Rance — https://a.example\nThe Rance station opened in 1966.\n[2] Costs\nTidal stations are expensive to build.`;
    expect(summarise(sources, { sentences: 2 })).toBe(
      'The Rance station opened in 1966. [1] Tidal stations are expensive to build. [2]',
    );
  });

  it('do not say the same twice', () => {
    expect(summarise('Tides follow the moon closely. Tides follow the moon closely.', { sentences: 2 })).toBe(
      'Tides follow the moon closely.',
    );
  });

  it('of nothing is nothing', () => {
    expect(summarise('', { sentences: 3 })).toBe('');
  });
});

describe('work on a given text', () => {
  it('summarises when the system asks for it, without a word about itself', async () => {
    const { text } = await step({
      tools: [],
      system: 'Summarise the conversation for later use.',
      messages: [{ role: 'user', content: tides }],
    });
    expect(text).toContain('Tidal power turns');
    expect(text).not.toContain(demoNotice);
  });

  it('summarises when the user asks for it, in as many sentences as asked', async () => {
    const { text } = await ask(`Summarise this in two sentences: ${tides}`, ['calculator']);
    const [summary = ''] = text.split('\n\n');
    expect(summary.match(/\./g)).toHaveLength(2);
  });

  it('works on the text and not on the order before it, however short the text is', async () => {
    const order =
      'Answer the question using the numbered passages below. The question is "Rance", as one part of the work on tides';
    const { text } = await step({
      tools: [],
      system: 'You write one part of a report. Use only the numbered passages.',
      messages: [{ role: 'user', content: `${order}\n\n[1] The Rance station opened in 1966.` }],
    });
    expect(text).toBe('The Rance station opened in 1966. [1]');
  });

  it('makes bullets when asked', async () => {
    const { text } = await ask(`Give me the key points in 3 bullets:\n${tides}`, []);
    expect(text.split('\n').filter((line) => line.startsWith('- '))).toHaveLength(3);
  });

  it('writes a report with a section for each heading and the citations kept', async () => {
    const material = `Topic: tidal power\n\n## Origins\n[1] The Rance\nThe first large tidal power station opened in 1966 on the Rance.\n\n## Cost\n[2] Costs\nBuilding a tidal power station is expensive.`;
    const { text } = await step({
      tools: [],
      system: 'Write a research report from the findings.',
      messages: [{ role: 'user', content: material }],
    });
    expect(text).toMatch(/^# Tidal power\n/);
    expect(text).toMatch(/## Origins\n\nThe first large[^\n]*\[1\]/);
    expect(text).toMatch(/## Cost\n\nBuilding[^\n]*\[2\]/);
  });

  it('summarises the conversation so far', async () => {
    const { text } = await step({
      messages: [
        { role: 'user', content: tides },
        { role: 'assistant', content: 'Noted.' },
        { role: 'user', content: 'Summarise our conversation' },
      ],
    });
    expect(text).toContain('Tidal power turns');
  });

  it('takes a short message for a message, whatever the system says', async () => {
    const { text } = await step({
      tools: [],
      system: 'You answer in short and summarise.',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(text).toContain('Hello. What can I do for you?');
  });
});
