import { describe, expect, it } from 'vitest';
import { isAllowed } from './domains.ts';
import { canonicalUrl, fingerprintOf, isNearDuplicate } from './duplicates.ts';
import { passagesFor } from './passages.ts';
import { qualityOf } from './quality.ts';

const article =
  'The heron waits in shallow water for fish and frogs. It nests in colonies high in trees, often for many years in the same place. Cold winters kill many herons because the water freezes. Numbers recover within a few years when winters are mild again.';

describe('near duplicates', () => {
  it('are copies with other words around them', () => {
    expect(
      isNearDuplicate(fingerprintOf(article), fingerprintOf(`Share this! ${article} Read more about birds.`)),
    ).toBe(true);
  });
  it('are not two texts on one subject', () => {
    const other =
      'Herons hunt fish and frogs in shallow water. They build large nests in tall trees near lakes. In hard winters many of them starve, and it takes some years until there are as many again as before.';
    expect(isNearDuplicate(fingerprintOf(article), fingerprintOf(other))).toBe(false);
    expect(isNearDuplicate(fingerprintOf('too short'), fingerprintOf('too short'))).toBe(false);
  });
  it('have one address however they were linked', () => {
    expect(canonicalUrl('http://a.example/x/?utm_source=n&b=1#top')).toBe(
      canonicalUrl('https://a.example/x/?b=1'),
    );
  });
});

describe('domain lists', () => {
  it.each([
    ['https://a.example/x', [], [], true],
    ['https://sub.a.example/x', ['a.example'], [], true],
    ['https://nota.example/x', ['a.example'], [], false],
    ['https://sub.bad.example/', [], ['bad.example'], false],
    ['https://bad.example/', ['bad.example'], ['bad.example'], false],
    ['/api/files/3', ['a.example'], [], true],
  ])('%s with allow %j and deny %j: %s', (url, allow, deny, allowed) => {
    expect(isAllowed(url, { allow, deny })).toBe(allowed);
  });
});

describe('quality', () => {
  const quality = (url: string) =>
    qualityOf({
      url,
      title: '',
      snippet: 'a snippet that is long enough to say something',
      source: 'searxng',
    });
  it('ranks by who publishes', () => {
    expect(quality('https://www.nih.gov/x')).toBeGreaterThan(quality('https://shop.example/x'));
    expect(quality('https://shop.example/x')).toBeGreaterThan(quality('https://www.pinterest.com/x'));
    expect(quality('/api/files/1')).toBeGreaterThan(0.8);
  });
});

describe('passages', () => {
  it('are the sentences that have to do with the question', () => {
    const filler = 'The park has a café and a car park for visitors with children. '.repeat(12);
    const [best] = passagesFor(`${filler}\n${article}\n${filler}`, 'why do cold winters kill herons', 1);
    expect(best?.text).toContain('Cold winters kill many herons');
  });
});
