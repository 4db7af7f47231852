import fc from 'fast-check';
import { expect, it } from 'vitest';
import { callOptions, everyTool, schemaOf } from './demo.suite.ts';
import { createDemoModel } from './model.ts';

const tools = [...everyTool, 'delegate_to'].map((name) => ({
  type: 'function' as const,
  name,
  inputSchema: schemaOf(name),
}));
const model = createDemoModel();

const long = 60_000;
/** The chat takes no longer message. A pattern that goes over its rest again and again would run into the time limit. */
const longest = 200_000;

it.each([
  ['one word without end', 'a'.repeat(long)],
  ['blanks', `remind me ${' '.repeat(long)} to`],
  ['line breaks', '\n'.repeat(long)],
  ['"and" without end', 'what is 2+2 and '.repeat(long / 16)],
  ['"to" without end', `add ${'to my '.repeat(long / 6)}`],
  ['marks without end', '.:?! '.repeat(long / 5)],
  ['digits and signs without end', `what is ${'1+'.repeat(long / 2)}`],
  ['open braces', `use tool calculator with ${'{"a":'.repeat(long / 5)}`],
  ['quotes', '"'.repeat(long)],
  ['sources', '[1] '.repeat(long / 4)],
  ['marks within a question', `What is ${'?'.repeat(longest)} x`],
  ['marks within something to remember', `Remember ${'. '.repeat(longest / 2)}!x`],
  ['marks within an address', `open https://a${'.'.repeat(longest)}<`],
  ['nothing but "and"', 'and '.repeat(longest / 4)],
  ['orders without a text', `${'write '.repeat(longest / 6)}: ${'a '.repeat(100)}`],
  ['"summarise" without end', 'summarise '.repeat(longest / 10)],
  ['a string that does not end', `use tool calculator with {${'\\"'.repeat(longest / 2)}\\`],
])('does not choke on %s', async (_, text) => {
  const { content } = await model.doGenerate(callOptions(text, { tools }));
  expect(content.length).toBeGreaterThan(0);
  expect(
    (await model.doGenerate(callOptions(`Summarise this: ${text}`))).content.length,
  ).toBeGreaterThanOrEqual(0);
});

it('answers any text with sound calls or words', async () => {
  const words = fc.constantFrom(
    'remember',
    'what',
    'is',
    'time',
    'in',
    'Tokyo',
    'every',
    'day',
    'at',
    '9',
    'and',
    'then',
    'ask',
    'me',
    'research',
    'to',
    'note',
    'bd-1',
    'use tool',
    'calculator',
    '{"a":1}',
    '2+2',
    '?',
    '.',
    'it',
    'my',
  );
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.array(words, { maxLength: 12 }).map((list) => list.join(' ')),
  );
  await fc.assert(
    fc.asyncProperty(text, async (said) => {
      const { content } = await model.doGenerate(callOptions(said, { tools }));
      for (const part of content) {
        if (part.type === 'tool-call') expect(JSON.parse(part.input)).toBeTypeOf('object');
        else expect(part).toMatchObject({ type: 'text', text: expect.stringMatching(/\S/) });
      }
      expect(content.length).toBeGreaterThan(0);
    }),
  );
});
