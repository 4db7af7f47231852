import { describe, expect, it } from 'vitest';
import { isKnownUrl } from './known-addresses.ts';
import { markOf } from './taint.ts';

const user = (content: string) => ({ role: 'user' as const, content });
const page = (value: string) => ({
  role: 'tool' as const,
  content: [
    {
      type: 'tool-result' as const,
      toolCallId: '1',
      toolName: 'fetch_url',
      output: { type: 'text' as const, value },
      ...markOf([{ kind: 'fetch_url', source: 'https://page.example/' }]),
    },
  ],
});
const fetches = (...urls: string[]) => ({
  role: 'assistant' as const,
  content: urls.map((url, index) => ({
    type: 'tool-call' as const,
    toolCallId: `c${index}`,
    toolName: 'fetch_url',
    input: { url },
  })),
});

describe('a host that the person named', () => {
  it.each([
    ['See bücher.example.', 'https://xn--bcher-kva.example/', true],
    ['See bücher.example.', 'https://cher.example/', false],
    ['See xn--bcher-kva.example.', 'https://bücher.example/', true],
    ['Siehe пример.рф!', 'https://пример.рф/', true],
    ['See example.com.', 'https://еxample.com/', false],
    ['See example.com.', 'https://example.com./', false],
    ['See example.com.', 'https://example.com:8443/', false],
    ['See example.com.', 'https://user:secret@example.com/', true],
    ['See example.com.', 'https://example.com@evil.example/', false],
    ['See example.com.', 'https://example.com.evil.example/', false],
    ['See example.com.', 'https://secret.example.com/', false],
    ['See http://127.0.0.1:81/.', 'http://2130706433:81/', true],
    ['Mail eve@evil.example about it.', 'https://evil.example/', false],
    ['Write äöü.md.', 'https://xn--4ca0bs.md/', false],
  ])('%s %s: %s', (words, url, known) => {
    expect(isKnownUrl(url, [user(words), page('Nothing.')])).toBe(known);
  });
});

describe('addresses of a site that nobody named', () => {
  const letters = [...'abcdefgh'].map((letter) => `https://evil.example/${letter}`);
  const start = [user('Read the page.'), page(letters.join(' '))];

  it('are read up to twenty of all sites that nobody named, whoever owns them', () => {
    const sites = Array.from({ length: 22 }, (_, index) => `https://site-${index}.example/`);
    const named = 'https://mine.example/a';
    const asked = [user('Read mine.example and the page.'), page([named, ...sites].join(' '))];
    const many = [...asked, fetches(named), fetches(...sites.slice(0, 10)), fetches(...sites.slice(10, 20))];
    expect(isKnownUrl(sites[19] ?? '', many)).toBe(true);
    expect(isKnownUrl(sites[20] ?? '', [...many, fetches(sites[20] ?? '')])).toBe(false);
    expect(isKnownUrl(named, many)).toBe(true);
    expect(isKnownUrl(sites[20] ?? '', [...many, user('Go on.'), fetches(sites[20] ?? '')])).toBe(true);
  });

  it('are read up to five of them since a person spoke', () => {
    const [a = '', b = '', c = '', d = '', e = '', f = ''] = letters;
    expect(isKnownUrl(a, [...start, fetches(a)])).toBe(true);
    const five = [...start, fetches(a), fetches(b, c), fetches(d, e)];
    expect(isKnownUrl(e, five)).toBe(true);
    expect(isKnownUrl(f, [...five, fetches(f)])).toBe(false);
    expect(isKnownUrl(a, [...five, fetches(a)])).toBe(true);
    expect(isKnownUrl(f, [...five, user('Go on.'), fetches(f)])).toBe(true);
  });

  it('count in the order of their calls where they are made in one step', () => {
    const step = [...start, fetches(...letters)];
    expect(letters.map((url) => isKnownUrl(url, step))).toEqual([
      ...Array.from({ length: 5 }, () => true),
      ...Array.from({ length: 3 }, () => false),
    ]);
  });

  it.each([':/', ':', ':\\\\', '://'])('count too where they are spelled with %j', (sign) => {
    const spelled = letters.map((url) => ` ${url.replace('://', sign)}`);
    const step = [...start, fetches(...spelled)];
    expect(letters.map((url) => isKnownUrl(url, step))).toEqual([
      ...Array.from({ length: 5 }, () => true),
      ...Array.from({ length: 3 }, () => false),
    ]);
  });

  it.each([
    ['names below one domain', (letter: string) => `https://${letter}.evil.example/`, false],
    ['names below a domain of a country', (letter: string) => `https://${letter}.evil.co.uk/`, false],
    ['ports of one machine', (letter: string) => `http://192.0.2.1:${letter.charCodeAt(0)}/`, false],
    ['schemes and queries', (letter: string) => `http://evil.example/?${letter}`, false],
    ['domains of their own', (letter: string) => `https://${letter}-evil.example/`, true],
    ['organisations of a country', (letter: string) => `https://${letter}-evil.co.uk/`, true],
  ])('count together: %s', (_, address, sixth) => {
    const urls = [...'abcdef'].map(address);
    const messages = [user('Read the page.'), page(urls.join(' ')), fetches(...urls)];
    expect(urls.map((url) => isKnownUrl(url, messages))).toEqual([true, true, true, true, true, sixth]);
  });
});
