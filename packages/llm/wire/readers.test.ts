import { describe, expect, it } from 'vitest';
import { createDocumentReader } from './document-reader.ts';
import { ToolCallReader } from './tool-calls.ts';

it('a document that is received in pieces counts once it is too long for a sign of life', () => {
  const documents: unknown[] = [];
  const reader = createDocumentReader({
    document: (value) => documents.push(value),
    done: () => undefined,
    unreadable: (text) => expect.fail(text),
  });
  const push = (text: string) => reader.push(Buffer.from(text));
  expect(push(`: ${'x'.repeat(2000)}`)).toBe(false);
  expect(push('\n\ndata: ["')).toBe(false);
  expect(push('x'.repeat(2000))).toBe(true);
  expect(push('x')).toBe(true);
  expect(push('"]\n\n: ping\n\n')).toBe(false);
  expect(documents).toHaveLength(1);
});

/** Each of these takes far longer than a test may where every piece copies or reads again what came before. */
describe('many small pieces', () => {
  it('of one line', () => {
    const documents: unknown[] = [];
    const reader = createDocumentReader({
      document: (value) => documents.push(value),
      done: () => undefined,
      unreadable: (text) => expect.fail(text),
    });
    const content = 'x'.repeat(300_000);
    const bytes = Buffer.from(`data: ${JSON.stringify({ content })}\n\n`);
    for (let index = 0; index < bytes.length; index += 1) reader.push(bytes.subarray(index, index + 1));
    reader.end();
    expect(documents).toEqual([{ content }]);
  });

  it('of the arguments of a call', () => {
    const parts: { type: string }[] = [];
    const reader = new ToolCallReader({
      push: (part) => parts.push(part),
      tooLong: (detail) => expect.fail(detail),
    });
    reader.read({ index: 0, id: 'x', function: { name: 'look', arguments: '' } });
    for (let piece = 0; piece < 400_000; piece += 1) reader.read({ index: 0, function: { arguments: 'x' } });
    reader.end({});
    expect(parts.at(-1)).toMatchObject({ type: 'tool-call', input: 'x'.repeat(400_000) });
    expect(parts.filter(({ type }) => type === 'tool-input-delta')).toHaveLength(400_000);
  });
});
