import { describe, expect, it } from 'vitest';
import { splitMessage, visibleLinks, withoutPictures } from './split-message.ts';

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => `const line${index} = ${index};`);

describe('a message that is too long', () => {
  it('keeps its code as code in every part, in the language that it names', () => {
    const parts = splitMessage(['See:', '```ts', ...lines(20), '```', 'Done.'].join('\n'), 200);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(200);
      expect((part.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
    expect(parts[1]).toMatch(/^```ts\nconst line/);
    const code = parts
      .join('\n')
      .split('\n')
      .filter((line) => line.startsWith('const'));
    expect(code).toEqual(lines(20));
    expect(parts.at(-1)).toMatch(/Done\.$/);
  });

  it('knows fences of other lengths and signs, and what only looks like one inside', () => {
    const text = ['~~~~md', '```', ...lines(20), '```', '~~~', '~~~~', 'End'].join('\n');
    const parts = splitMessage(text, 200);
    for (const part of parts.slice(0, -1)) expect(part).toMatch(/^~~~~md\n[\s\S]*\n~~~~$/);
    expect(parts.at(-1)).toMatch(/~~~~\nEnd$/);
  });

  it('is cut neither in code that opens at the very end, nor left with an empty block', () => {
    const parts = splitMessage(['x'.repeat(195), '```', 'code', '```'].join('\n'), 200);
    expect(parts).toEqual(['x'.repeat(195), '```\ncode\n```']);
  });

  it('without code is what it was, cut at the ends of lines', () => {
    const text = lines(30).join('\n');
    expect(splitMessage(text, 100).join('\n')).toBe(text);
    for (const short of ['short', '```\nnever closed', 'text\n```'])
      expect(splitMessage(short, 100)).toEqual([short]);
  });

  it('is never cut through a sign of several characters', () => {
    const family = '👩‍👩‍👧‍👦';
    const parts = splitMessage(family.repeat(50), 96);
    for (const part of parts) expect(part.replaceAll(family, '')).toBe('');
    expect(parts.join('')).toBe(family.repeat(50));
  });
});

describe('links on a chat platform', () => {
  it.each([
    ['See [the bank](https://evil.example/?d=1).', 'See the bank (<https://evil.example/?d=1>).'],
    ['[https://a.example/](https://a.example/)', '<https://a.example/>'],
    ['[https://bank.example](https://evil.example)', 'https://bank.example (<https://evil.example>)'],
    ['![chart](https://evil.example/p.png "t")', 'chart (<https://evil.example/p.png>)'],
    ['![](HTTPS://evil.example/p.png)', '<HTTPS://evil.example/p.png>'],
    ['[Foo](https://a.example/b_(c)) and (d)', 'Foo (<https://a.example/b_(c)>) and (d)'],
    ['[x](<https://a.example/>)', 'x (<https://a.example/>)'],
    ['plain https://a.example/ stays', 'plain https://a.example/ stays'],
    ['`[x](https://a.example/)` and\n```\n[x](https://a.example/)\n```', undefined],
    ['a list[0](1) and [note](#1)', undefined],
  ])('%s', (given, shown = given) => {
    expect(visibleLinks(given)).toBe(shown);
  });
});

describe('pictures on a code host', () => {
  it.each([
    ['![x](https://evil.example/?d=1)', '\\![x](https://evil.example/?d=1)'],
    ['![a [b]](https://evil.example/)', '\\![a [b]](https://evil.example/)'],
    ['![x][p]\n\n[p]: https://evil.example/', '\\![x][p]\n\n[p]: https://evil.example/'],
    ['![p]\n\n[p]: https://evil.example/', '\\![p]\n\n[p]: https://evil.example/'],
    ['<IMG src="https://evil.example/">', '&lt;IMG src="https://evil.example/">'],
    ['<picture><source srcset=x></picture>', '&lt;picture>&lt;source srcset=x>&lt;/picture>'],
    ['Careful! [Docs](https://a.example/) and <details>', undefined],
    ['if (![1, 2].includes(x)) return;', undefined],
  ])('%s', (given, shown = given) => {
    expect(withoutPictures(given)).toBe(shown);
  });
});
