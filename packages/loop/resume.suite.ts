import { readFileSync } from 'node:fs';
import { createModelGateway, defineTool } from '@trunkline/llm';
import { z } from 'zod';
import { resumeTurn } from './turn.ts';

/** A process of its own that resumes a stored turn and prints its events, one a line: FILE ANSWER MODEL_URL. */
const [file = '', answer = '', url = ''] = process.argv.slice(2);

const shout = defineTool({
  name: 'shout',
  effects: ['reads'],
  description: 'Shouts.',
  input: z.object({ text: z.string() }),
  execute: async ({ text }) => text.toUpperCase(),
});

const turn = resumeTurn({
  model: createModelGateway({ url, model: 'test-model' }).languageModel(),
  instructions: 'Be brief.',
  tools: [shout],
  limits: { steps: 8, toolTimeoutMs: 5000, turnTimeoutMs: 10_000 },
  sessionId: 'session-1',
  checkpoint: JSON.parse(readFileSync(file, 'utf8')),
  answer,
});

for await (const event of turn) console.log(JSON.stringify(event));
