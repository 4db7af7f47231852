import { createModelGateway, defineTool } from '@trunkline/llm';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { collect, ended, limits, resultsOf, spokenIn } from './turn.suite.ts';
import { runTurn } from './turn.ts';

const memory: string[] = [];
const tools = [
  defineTool({
    name: 'calculator',
    effects: ['reads'],
    description: 'Calculates.',
    input: z.object({ expression: z.string() }),
    execute: async ({ expression }) => (expression === '2+2' ? '2+2 = 4' : 'Error: division by zero'),
  }),
  defineTool({
    name: 'memory_ingest',
    effects: ['writes'],
    description: 'Stores.',
    input: z.object({ content: z.string(), domain: z.string().default('general') }),
    execute: async ({ content, domain }) =>
      `Stored chunk ${memory.push(`[${domain}] ${content}`)} in '${domain}'.`,
  }),
  defineTool({
    name: 'memory_recall',
    effects: ['reads'],
    description: 'Recalls.',
    input: z.object({ query: z.string(), k: z.int().default(5) }),
    execute: async ({ query }) =>
      memory.filter((entry) => query.split(' ').some((word) => entry.includes(word))).join('\n') ||
      'No matches.',
  }),
];

async function say(content: string) {
  const model = createModelGateway({}).languageModel();
  return collect(
    runTurn({
      model,
      instructions: 'You are helpful.',
      messages: [{ role: 'user', content }],
      tools,
      limits,
      sessionId: 's',
    }),
  );
}

it('answers with the demo model, which really calls the tools', async () => {
  const events = await say('Remember that my door code is 4711, and what is 2+2?');
  expect(resultsOf(events).sort()).toEqual([
    ['calculator', '2+2 = 4'],
    ['memory_ingest', "Stored chunk 1 in 'general'."],
  ]);
  const recalled = await say('What is my door code?');
  expect(ended(recalled.at(-1)).text).toContain('my door code is 4711');
  expect(spokenIn(recalled)).toBe(ended(recalled.at(-1)).text);
  expect(ended(recalled.at(-1)).text).toContain('offline demo');
  expect(ended(recalled.at(-1)).usage.totalTokens).toBeGreaterThan(0);
});

it('reports the failure of a tool honestly', async () => {
  expect(ended((await say('what is 1/0')).at(-1)).text).toContain('calculator failed: division by zero');
});
