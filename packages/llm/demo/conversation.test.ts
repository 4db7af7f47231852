import { describe, expect, it } from 'vitest';
import { answer, ask, step } from './demo.suite.ts';
import { demoNotice } from './reply.ts';
import { summarise } from './summary.ts';

describe('answers from tool results', () => {
  it.each([
    [
      'what time is it in Tokyo',
      '2026-03-04T19:00:00+09:00 [Asia/Tokyo]\nWednesday, 4 March 2026, 19:00',
      'Time in Tokyo: Wednesday, 4 March 2026, 19:00.',
    ],
    ['what is 2+2', '2+2 = 4', '2+2 = 4.'],
    ['remember that I like tea', "Stored chunk 7 in 'general'.", 'I will remember: "I like tea".'],
    ['what is my door code?', '[general] : my door code is 4711', 'From memory: my door code is 4711'],
    ['what is my door code?', 'No matches.', 'I have nothing in memory about "door code".'],
    [
      'remind me in 5 minutes to stretch',
      'Scheduled job a-1 next at 2026-03-04T10:05:00Z.',
      'Scheduled for Wednesday, 4 March 2026 at 10:05 UTC, as job a-1. It will run: "Reminder: stretch".',
    ],
    [
      'remind me every day at 9 to stretch',
      'Scheduled job a-1 next at 2026-03-05T09:00:00Z.',
      'Scheduled: every day at 09:00, first on Thursday, 5 March 2026 at 09:00 UTC, as job a-1.',
    ],
    ['ask research to look', 'It is blue.', 'research answered: It is blue.'],
    ['get the projects', 'one, two', 'get_projects: one, two'],
    ['is there an outage?', 'There are no incidents.', 'There are no incidents.'],
    ['report an incident: no light', 'Reported as inc-1.', 'Reported as inc-1. Its title: "no light".'],
    [
      'what is my door code?',
      '[general] : the code is 4711\n[general] : the code is 4711',
      'From memory: the code is 4711\n\nI am',
    ],
    ['what is 1/0', 'Error: division by zero', 'calculator failed: division by zero'],
    ['ask me which colour I like', 'blue', 'Thank you. You answered: "blue".'],
  ])('%s -> %s', async (text, result, said) => {
    const turn = await answer(await ask(text), [result]);
    expect(turn.calls).toEqual([]);
    expect(turn.text).toContain(said);
  });

  it('reports what failed beside what worked', async () => {
    const turn = await answer(await ask('what is 2+2 and what time is it in Atlantis'), [
      '2+2 = 4',
      "Error: unknown timezone 'Atlantis'.",
    ]);
    expect(turn.text).toContain("2+2 = 4. current_time failed: unknown timezone 'Atlantis'.");
  });

  it('digests search results with their sources, as lines and as JSON', async () => {
    const snippet = 'Tidal power turns the energy of the tides into electricity.';
    const lines = `1 result(s) for 'tidal power':\n1. Tidal power — https://a.example/t\n   ${snippet}`;
    const fromLines = await answer(await ask('search the web for tidal power'), [lines]);
    expect(fromLines.text).toContain(`${snippet} [1]\n\n- [1] Tidal power (https://a.example/t)`);
  });

  it('leaves the list of results, and what two searches say alike, to the page that shows it', async () => {
    const tools = ['searchEncyclopedia', 'searchWeb'];
    const snippet = 'Tidal power turns the energy of the tides into electricity.';
    const json = JSON.stringify([{ number: 4, title: 'Tidal power', url: 'https://a.example/t', snippet }]);
    const found = await answer(await ask('what is tidal power?', tools), [json, json], tools);
    expect(found.text).toBe(`${snippet} [4]\n\n${demoNotice}`);
    const failure = 'Error: Your files do not have it. The web cannot be reached.';
    const failed = await answer(await ask('what is tidal power?', tools), [failure, failure], tools);
    expect(failed.text).toBe(`Your files do not have it. The web cannot be reached.\n\n${demoNotice}`);
    const nothing = await answer(await ask('what is tidal power?', tools), ['[]', '[]'], tools);
    expect(nothing.text).toContain('The search found nothing.');
  });

  it('summarises a fetched page', async () => {
    const page =
      '[200] https://example.org\nOtters live in rivers. Otters eat fish and crabs in rivers. The cafe closes at five o clock.';
    expect((await answer(await ask('read https://example.org'), [page])).text).toContain(
      'Otters eat fish and crabs in rivers.',
    );
  });
});

describe('stages', () => {
  it('uses what the step before found', async () => {
    const first = await ask('search the web for otters, then remember it');
    expect(first.calls).toMatchObject([{ tool: 'web_search' }]);
    const second = await answer(first, ['Otters swim.']);
    expect(second.calls).toEqual([{ tool: 'memory_ingest', input: { content: 'Otters swim.' } }]);
    const last = await answer(second, ["Stored chunk 1 in 'general'."]);
    expect(last.calls).toEqual([]);
    expect(last.text).toContain('I will remember: "Otters swim."');
  });

  it('completes a wish with the answer of the human', async () => {
    const question = await ask('remind me to stretch');
    expect(question.calls).toMatchObject([
      { tool: 'ask_human', input: { question: expect.stringContaining('When') } },
    ]);
    const order = await answer(question, ['in 5 minutes']);
    expect(order.calls).toEqual([
      { tool: 'schedule_task', input: { prompt: 'Reminder: stretch', when: '2026-03-04T10:05:00.000Z' } },
    ]);
    expect((await answer(order, ['Scheduled job a next at b.'])).calls).toEqual([]);
  });
});

describe('talk', () => {
  it('names itself once in a conversation', async () => {
    const first = await ask('hello');
    expect(first.text).toContain(demoNotice);
    const second = await step({ messages: [...first.messages, { role: 'user', content: 'thanks' }] });
    expect(second.text).toBe('You are welcome.');
  });

  it('lists what the offered tools allow, and nothing else', async () => {
    const { text } = await ask('What can you do?', ['calculator', 'memory_ingest']);
    expect(text).toContain('What is 15% of 80?');
    expect(text).toContain('Remember that');
    expect(text).not.toContain('Tokyo');
    expect(text).not.toContain('inbox');
  });

  it('delivers a reminder that fires', async () => {
    const fired = await ask('Reminder: stretch');
    expect(fired.calls).toEqual([]);
    expect(fired.text).toContain('Here is your reminder: stretch.');
  });

  it('says so when it understands nothing', async () => {
    const { text } = await ask('flurb the gronk');
    expect(text).toContain('I found nothing in that I can act on.');
    // All of what it can do is for those who ask.
    expect(text.match(/^- /gm)).toHaveLength(5);
    expect(text).toContain('Say "help" for all examples.');
    const whole = await ask('help');
    expect(whole.text.match(/^- /gm)?.length).toBeGreaterThan(10);
    expect(whole.text).not.toContain('Say "help"');
  });
});

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
