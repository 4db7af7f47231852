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
