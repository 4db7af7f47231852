import { describe, expect, it } from 'vitest';
import { visibleLinks, withoutPictures } from './split-message.ts';

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
