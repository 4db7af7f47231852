import { expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTool, inputFromSchema, schemaOfInput, type Tool } from './tool.ts';

const context = { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c' };

const add = defineTool({
  name: 'add',
  effects: ['reads'],
  description: 'Adds two numbers.',
  input: z.object({ left: z.number(), right: z.number() }),
  execute: async ({ left, right }) => String(left + right),
});

const ask = defineTool({
  name: 'ask_human',
  effects: ['reads'],
  description: 'Asks the human.',
  input: z.object({ question: z.string() }),
  pause: true,
});

it('keeps the input type of a tool', async () => {
  expectTypeOf(add.execute).parameter(0).toEqualTypeOf<{ left: number; right: number }>();
  expect(await add.execute({ left: 2, right: 3 }, context)).toBe('5');
});

it('holds running and pausing tools in one list, told apart by pause', async () => {
  const tools: Tool[] = [add, ask];
  const answers = await Promise.all(
    tools.map(async (tool) => (tool.pause ? 'paused' : tool.execute({ left: 1, right: 1 }, context))),
  );
  expect(answers).toEqual(['2', 'paused']);
});

it('keeps nothing of schemas that programs and servers give, and shows them to models as they are', () => {
  const schema = (id: string) => ({
    id,
    type: 'object',
    properties: { when: { id: `${id}-when`, type: 'string', description: 'A day', examples: ['Monday'] } },
    required: ['when'],
    additionalProperties: false,
  });
  const { _idmap: kept } = z.globalRegistry;
  const before = kept.size;
  const inputs = ['one', 'two', 'two'].map((id) => inputFromSchema(schema(id)));
  expect(inputs.map((input) => schemaOfInput(input))).toEqual(
    Array(3).fill({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { when: { type: 'string', description: 'A day', examples: ['Monday'] } },
      required: ['when'],
      additionalProperties: false,
    }),
  );
  expect(kept.size).toBe(before);
  expect(inputs[0]?.safeParse({ when: 'Monday' }).data).toEqual({ when: 'Monday' });
  expect(inputs[0]?.safeParse({ when: 1 }).success).toBe(false);
});
