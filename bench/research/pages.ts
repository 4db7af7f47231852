import type { CorpusPage } from '@trunkline/testing';

const SUBJECTS = ['stations', 'cost', 'history', 'wildlife'];
const PAGES_PER_SUBJECT = 5;

/** A small web in which every subject has pages of its own. */
export const pages: CorpusPage[] = SUBJECTS.flatMap((subject, row) =>
  Array.from({ length: PAGES_PER_SUBJECT }, (_, column) => {
    const number = row * PAGES_PER_SUBJECT + column + 1;
    return {
      path: `/${subject}/${number}`,
      title: `${subject} of tidal power ${number}`,
      text: articleOf(subject, number),
    };
  }),
);

function articleOf(subject: string, number: number): string {
  return Array.from(
    { length: 12 },
    (_, line) =>
      `Report ${number} on the ${subject} of tidal power says in part ${line + 1} that site ${number * 13 + line} had ${number * 100 + line * 7} ${subject} entries in ${1950 + ((number * 5 + line) % 70)}.`,
  ).join('\n');
}

/** Pairs of texts that are copies of each other, and pairs that only share a subject. */
export function textPairs(): { left: string; right: string; isCopy: boolean }[] {
  const copies = pages.flatMap(({ text }) => [
    { left: text, right: `Share this page. ${text} Sign up for our letter.`, isCopy: true },
    { left: text, right: text.split('\n').slice(0, 11).join('\n'), isCopy: true },
    { left: text, right: text.replaceAll('Report', 'The report'), isCopy: true },
  ]);
  const others = pages.flatMap(({ text }, index) =>
    pages.slice(index + 1, index + 5).map((page) => ({ left: text, right: page.text, isCopy: false })),
  );
  return [...copies, ...others];
}
