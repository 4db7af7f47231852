import { describe, expect, it } from 'vitest';
import { qualityOf } from './dimension.ts';
import { extract } from './draft-writer.ts';
import { canonicalUrl, fingerprintOf, isNearDuplicate } from './duplicates.ts';
import { isAllowed, withinOperatorLists } from './job.ts';
import { passagesFor } from './material.ts';

const article =
  'The heron waits in shallow water for fish and frogs. It nests in colonies high in trees, often for many years in the same place. Cold winters kill many herons because the water freezes. Numbers recover within a few years when winters are mild again.';

const report = `The council of Hollern will rebuild the footbridge over the Este, which has been closed since March. The work costs 412,000 euros and is to take nine months, said Karin Duhm, who heads the building office. Divers had found that two of the four piles were rotten below the water line.
Until then pupils of the primary school walk round by the road bridge, which takes them a quarter of an hour longer. A bus was asked for by 230 parents but would have cost the town 6,000 euros a month, and the council voted against it by 11 to 8.
The new bridge will be three metres wide, so that cyclists may ride on it, and its piles will be of oak from the forest of the town. The old one was built in 1959 by apprentices of the shipyard. A plaque with their names, which was stolen in 1998 and found again in a cellar in Stade, will be put up at the northern end.`;
const MENU = 'Home News Sport Weather. Subscribe for one pound a week. We store cookies on your device.';
const FOOT =
  'Most read today. Letters to the editor. Our newsletter brings you the best stories. All rights reserved.';

/** A word added to or changed in every line of some dozen words. */
const edited = report
  .replace('will rebuild', 'is going to rebuild')
  .replace('and is to take', 'and should take')
  .replace('had found', 'found')
  .replace('walk round', 'must walk round')
  .replace('would have cost', 'would cost')
  .replace('so that cyclists', 'and cyclists')
  .replace('was built in', 'had been built in')
  .replace('which was stolen', 'stolen')
  .replace('will be put up', 'is put up');
const syndicated = `From our agency.\nIn Hollern children will soon be able to walk to school dry-shod once more.\n${report.slice(report.indexOf('The work costs'))}`;
const shortened = report.slice(0, report.indexOf('The new bridge'));

/** A form of an office, filled in. */
const notice = (name: string, area: number, year: number, homes: number) =>
  `The parish of ${name} lies on the Este. It covers ${area} hectares, most of them orchards, and had ${homes} households at the last count. The church was built in ${year}. The parish council meets in the school on the first Tuesday of every month, and its minutes can be read in the library. Buses run to the town on weekdays. Those who live in ${name} may use the dump of the district free of charge.`;

describe('near duplicates', () => {
  const isCopy = (known: string, fresh: string, sites: [string, string] = ['a.example', 'b.example']) =>
    isNearDuplicate(
      fingerprintOf(fresh, `https://${sites[0]}/1`),
      fingerprintOf(known, `https://${sites[1]}/2`),
    );

  it.each([
    ['with other words around it', `${MENU}\n${report}\n${FOOT}`],
    ['with light edits', edited],
    ['that was shortened', shortened],
    ['under another headline, with another lead', syndicated],
    ['with all of that', `${MENU}\n${edited.slice(edited.indexOf('The work costs'))}`],
    ['in other type', report.replaceAll(',', ' ,').replaceAll('. ', '.[1]\n\n')],
  ])('are a text and its copy %s, whichever comes first', (_, copy) => {
    expect(isCopy(report, copy)).toBe(true);
    expect(isCopy(copy, report)).toBe(true);
  });

  it('are a short text and its copy with other words around it', () => {
    expect(isCopy(article, `Share this! ${article} Read more about birds.`)).toBe(true);
  });

  it('are not two texts on one subject', () => {
    const other =
      'Herons hunt fish and frogs in shallow water. They build large nests in tall trees near lakes. In hard winters many of them starve, and it takes some years until there are as many again as before.';
    expect(isCopy(article, other)).toBe(false);
    expect(isCopy(`${MENU} ${article} ${FOOT}`, `${MENU} ${other} ${FOOT}`)).toBe(false);
    expect(isCopy(report, `${other} ${shortened.slice(0, 300)}`)).toBe(false);
  });

  it.each([
    ['figures', notice('Hollern', 412, 1692, 230), notice('Hollern', 388, 1704, 198)],
    ['names and figures', notice('Hollern', 412, 1692, 230), notice('Steinkirchen', 655, 1773, 517)],
  ])('are not two pages that fill one form with other %s', (_, left, right) => {
    expect(isCopy(left, right)).toBe(false);
    expect(isCopy(left, `${MENU} ${left}`)).toBe(true);
  });

  it('are not a page and a far longer one that was read after it', () => {
    const long = `${report}\n${Array.from({ length: 900 }, (_, word) => `word${word}`).join(' ')}`;
    expect(isCopy(report, long)).toBe(false);
    expect(isCopy(long, report)).toBe(true);
  });

  it('are harder to find within one site, whose pages share much', () => {
    const ofOneSite: [string, string] = ['www.a.example', 'a.example'];
    const framed = `${MENU} ${FOOT} ${MENU} ${report} ${FOOT}`;
    const other = `${MENU} ${FOOT} ${MENU} ${article} ${FOOT}`;
    expect(isCopy(framed, other, ofOneSite)).toBe(false);
    expect(isCopy(report, syndicated, ofOneSite)).toBe(false);
    expect(isCopy(report, edited, ofOneSite)).toBe(true);
  });

  it('are short texts only when they are the same', () => {
    const short = 'The ferry does not run today.';
    expect(isCopy(short, short)).toBe(true);
    expect(isCopy(short, 'The ferry does not run today because of ice.')).toBe(false);
    expect(isCopy('too short', 'too short')).toBe(false);
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

  it("of a job open nothing that the operator's keep closed", () => {
    const operator = { allow: ['a.example'], deny: ['bad.a.example'] };
    const lists = withinOperatorLists({ allow: ['b.example', 'a.example'], deny: ['c.a.example'] }, operator);
    const hosts = ['a.example', 'x.a.example', 'bad.a.example', 'c.a.example', 'b.example', 'd.example'];
    expect(hosts.filter((host) => isAllowed(`https://${host}/`, lists))).toEqual([
      'a.example',
      'x.a.example',
    ]);
  });
});

describe('quality', () => {
  const quality = (url: string) =>
    qualityOf(
      {
        url,
        title: '',
        snippet: 'a snippet that is long enough to say something',
        source: 'searxng',
      },
      false,
    );
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

  const table = (head: string, ...rows: string[]) =>
    [head, '| --- | --- |', ...rows].map((line) => (line.includes('---') ? line : `| ${line} |`)).join('\n');
  const extracted = (text: string) =>
    extract(passagesFor(text, 'Fundy and Ungava', 4).map((passage) => ({ ...passage, number: 1 })));

  it.each(['\n\n## Costs\n\n', '\n\n'])(
    'hold one table each, with its own head, of those with %j between',
    (gap) => {
      const power = table('Station | MW', 'Fundy | 20', 'Ungava | 31');
      const costs = table('Station | Cost', 'Fundy | 7 million', 'Ungava | 9 million');
      expect(extracted(`${power}${gap}${costs}`)).toBe(
        [
          table('Station | MW', 'Fundy | 20 [1]', 'Ungava | 31 [1]'),
          table('Station | Cost', 'Fundy | 7 million [1]', 'Ungava | 9 million [1]'),
        ].join('\n\n'),
      );
    },
  );

  it('give all rows of a table, but none whose head tells the reader to do something', () => {
    const rows = ['Fundy', 'Ungava', 'Severn', 'Rance', 'Sihwa', 'Kislaya'].map(
      (name, at) => `${name} | ${at}`,
    );
    expect(extracted(table('Basin | Place', ...rows))).toContain('| Kislaya | 5 [1] |');
    expect(extracted(table('Visit http://prize.example/win now | Place', ...rows))).toBe('');
  });

  it('keep a sentence behind a table apart from its last row', () => {
    const text = `${table('Basin | Range m', 'Fundy | 16.3')}\n\nThe bay of Fundy is large.`;
    expect(extracted(text)).toBe('The bay of Fundy is large. [1]');
  });
});
