import { describe, expect, it } from 'vitest';
import { closeOpenMarks, markdownBlocks } from './markdownBlocks.ts';

describe('markdownBlocks', () => {
  it('parts paragraphs, headings and lists', () => {
    expect(markdownBlocks('# One\n\nText\nmore\n\n- a\n- b\n')).toEqual(['# One', 'Text\nmore', '- a\n- b']);
  });

  it('keeps a list with empty lines, and what is indented below an item, together', () => {
    const list = '1. first\n\n   its second paragraph\n\n2. second';
    expect(markdownBlocks(list)).toEqual([list]);
  });

  it('does not cut inside a fence, however long', () => {
    const fence = '````md\n```\n\ninner\n\n```\n````';
    expect(markdownBlocks(`before\n\n${fence}\n\nafter`)).toEqual(['before', fence, 'after']);
  });

  it('keeps a fence that is still open as one block', () => {
    expect(markdownBlocks('text\n\n```ts\nconst a = 1;\n\nconst b')).toEqual([
      'text',
      '```ts\nconst a = 1;\n\nconst b',
    ]);
  });

  it('leaves a text with definitions whole, since they are used across blocks', () => {
    const text = 'See [the test][1].\n\n[1]: https://example.com';
    expect(markdownBlocks(text)).toEqual([text]);
  });

  it('changes only the last block while text comes in', () => {
    const text = '# Title\n\nA paragraph.\n\n- a\n- b\n\nThe end.';
    for (let length = 1; length < text.length; length += 1) {
      const now = markdownBlocks(text.slice(0, length));
      const next = markdownBlocks(text.slice(0, length + 1));
      expect(next.slice(0, now.length - 1)).toEqual(now.slice(0, -1));
    }
  });
});

describe('closeOpenMarks', () => {
  it.each([
    ['a **bold', 'a **bold**'],
    ['a **bold** word', 'a **bold** word'],
    ['a **', 'a '],
    ['some `code', 'some `code`'],
    ['`a ** b` text', '`a ** b` text'],
    ['see [the te', 'see the te'],
    ['see [the test](https://exa', 'see the test'],
    ['see [the test](https://example.com)', 'see [the test](https://example.com)'],
    ['~~gone', '~~gone~~'],
    ['```ts\nconst a = `x', '```ts\nconst a = `x'],
  ])('turns %j into %j', (half, whole) => {
    expect(closeOpenMarks(half)).toBe(whole);
  });
});
