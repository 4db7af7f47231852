import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pages } from './pages.ts';

/** Two texts, and whether the second says nothing that the first does not. */
export interface TextPair {
  kind: string;
  left: string;
  right: string;
  isCopy: boolean;
}

/** Copies as they are met on the web, and texts that share a subject, a frame or a form but not what they say. */
export function textPairs(): TextPair[] {
  return [...plainCopies(), ...alteredCopies(), ...otherPages(), ...otherArticles(), ...otherForms()];
}

function plainCopies(): TextPair[] {
  return pages.flatMap(({ text }) => [
    copy('letter', text, `Share this page. ${text} Sign up for our letter.`),
    copy('one line less', text, text.split('\n').slice(0, 11).join('\n')),
    copy('a word a line', text, text.replaceAll('Report', 'The report')),
  ]);
}

function alteredCopies(): TextPair[] {
  return articles().flatMap((article) => {
    const { text } = article;
    const halves = [
      sentencesOf(text, (place, all) => place < all * 0.6),
      sentencesOf(text, (place) => place % 3 !== 1),
    ];
    return [
      copy('light edits', text, edited(text, 12)),
      copy('many light edits', text, edited(text, 8)),
      copy('boilerplate', text, framed(text)),
      copy('much boilerplate', text, `${framed(text)}\n${OTHER_FOOT}`),
      copy('two frames', framed(text), `${text}\n${OTHER_FOOT}`),
      ...halves.map((half) => copy('shortened', text, half)),
      copy('shortened and edited', text, edited(halves[0] ?? '', 12)),
      copy('syndicated', text, syndicated(article)),
      copy('syndicated in frames', framed(text), `${syndicated(article)}\n${OTHER_FOOT}`),
      copy('syndicated and edited', text, framed(edited(syndicated(article), 14))),
      copy('other typesetting', text, typeset(text)),
    ];
  });
}

function otherPages(): TextPair[] {
  return pages.flatMap(({ text }, index) =>
    pages.slice(index + 1, index + 5).map((page) => other('one pattern', text, page.text)),
  );
}

function otherArticles(): TextPair[] {
  const all = articles();
  return all.flatMap((left, index) =>
    all
      .slice(index + 1)
      .flatMap((right) => [
        other('articles', left.text, right.text),
        other('articles in one frame', framed(left.text), framed(right.text)),
        other(
          'notes with one ending',
          `${firstParagraph(left.text)}\n${ABOUT}`,
          `${firstParagraph(right.text)}\n${ABOUT}`,
        ),
        other('one quotes the other', left.text, `${right.text}\n${firstParagraph(left.text)}`),
      ]),
  );
}

function otherForms(): TextPair[] {
  return Object.entries(forms).flatMap(([kind, filled]) =>
    filled.flatMap((left, index) => filled.slice(index + 1).map((right) => other(kind, left, right))),
  );
}

const copy = (kind: string, left: string, right: string): TextPair => ({ kind, left, right, isCopy: true });
const other = (kind: string, left: string, right: string): TextPair => ({ kind, left, right, isCopy: false });

interface Article {
  title: string;
  lead: string;
  text: string;
}

function articles(): Article[] {
  const blocks = readFileSync(join(import.meta.dirname, 'articles.txt'), 'utf8')
    .split(/^# /m)
    .slice(1);
  return blocks.map((block) => {
    const [title = '', lead = '', ...lines] = block.trim().split('\n');
    return { title, lead: lead.replace(/^lead: /, ''), text: lines.join('\n') };
  });
}

/** Every so many words one is left out, changes its place or gets another before it; figures and names stay. */
function edited(text: string, every: number): string {
  const words = text.split(' ');
  const isPlain = (word: string | undefined) => word !== undefined && /^\p{Ll}+$/u.test(word);
  for (let place = every; place < words.length; place += every) {
    const [word, next] = [words[place], words[place + 1]];
    if (!isPlain(word)) continue;
    const kind = (place / every) % 3;
    if (kind === 0) words[place] = '';
    else if (kind === 1) words[place] = `indeed ${word}`;
    else if (isPlain(next)) words.splice(place, 2, next ?? '', word ?? '');
  }
  return words.filter((word) => word !== '').join(' ');
}

function sentencesOf(text: string, isKept: (place: number, all: number) => boolean): string {
  const sentences = text.split(/(?<=[.!?])\s+/);
  return sentences.filter((_, place) => isKept(place, sentences.length)).join(' ');
}

function firstParagraph(text: string): string {
  return text.split('\n')[0] ?? '';
}

/** Under another headline, with another first sentence. */
function syndicated({ lead, text }: Article): string {
  const rest = sentencesOf(text, (place) => place > 0);
  return `From our correspondents, with material of the agency.\n${lead}\n${rest}`;
}

function typeset(text: string): string {
  return text
    .replaceAll("'", '’')
    .replaceAll(', ', ' , ')
    .replace(/(\d),(\d{3})/g, '$1$2')
    .replace(/([.]) /g, '$1[1]\n\n');
}

const HEAD =
  'Skip to content. Home News Sport Weather Travel Business Culture Archive. Subscribe for one pound a week. We and our partners store information on your device in order to show advertising that fits you. You may accept this or choose what you allow. Accept all. Settings.';
const FOOT =
  'Most read today. Ten gardens to visit before the summer is over. What we know about the new timetable. Letters to the editor. Our newsletter brings you the best stories every morning. Enter your address here. About us. Contact. Terms of use. Privacy. All rights reserved, reproduction only with leave.';
const OTHER_FOOT =
  'Comments are closed for this story. Readers who liked it also opened our series on the coast. Follow us wherever you read. Imprint, cookies, accessibility, jobs. A service of the regional press.';
const ABOUT =
  'About the group. Founded in 1962, the group runs schools, clinics and laboratories in fourteen countries and employs 9,300 people. Its shares are listed in Oslo and Amsterdam. Statements in this note that look ahead rest on what the board expects today. They are subject to risks that the group can neither foresee nor control, among them changes of rates and of law. The group takes on no duty to bring such statements up to date. Journalists may use the pictures free of charge when they name the source. For questions please turn to the press office on working days from nine to five.';

function framed(text: string): string {
  return `${HEAD}\n${text}\n${FOOT}`;
}

/** Pages that offices and firms fill in from one form: the same words, other figures, at times other names. */
const forms: Record<string, string[]> = {
  weather: fill(
    (figure) =>
      `Weather for Aldmouth and the coast. Today the temperature rises to ${figure(19)} degrees by ${figure(6) + 12} o'clock, with a wind of ${figure(40)} kilometres an hour from the west. The chance of rain is ${figure(90)} percent before noon and ${figure(80)} percent after it; up to ${figure(14)} millimetres are expected. During the night it cools down to ${figure(9)} degrees. High water stands at ${figure(5)} metres at ${figure(11)} in the morning. The sea has ${figure(17)} degrees. Pollen counts are low. The record for this day is ${figure(30) + 20} degrees, measured in ${figure(90) + 1920}. Walkers on the sands should note that the tide comes in fast and that the flag on the pier says when it is safe to go out.`,
  ),
  results: fill(
    (figure) =>
      `Harwell Instruments plc publishes its results for the quarter. Revenue came to ${figure(70) + 80} million pounds, a change of ${figure(12)} percent against the same quarter of the year before. Operating profit was ${figure(20) + 5} million pounds and the margin ${figure(9) + 8} percent. Orders stood at ${figure(150) + 100} million pounds at the end of the quarter. Research and development took ${figure(12)} million pounds. The number of employees was ${figure(900) + 2000}. For the whole year the board expects revenue of about ${figure(200) + 400} million pounds. Net debt was ${figure(60)} million pounds. The board will propose a dividend of ${figure(30)} pence a share, to be paid on the usual date to those who are on the register. The full statement can be read on the page for investors.`,
  ),
  notice: [
    ['Birch Cottage', 'Church Lane', 'a garage for two cars'],
    ['The Old Forge', 'Station Road', 'a room in the roof'],
    ['Number 9', 'Quarry Hill', 'a wall of brick along the footpath'],
    ['Fenwick House', 'Harbour Street', 'solar panels on the barn'],
  ].map(
    ([house, street, work]) =>
      `Notice of an application for planning permission. The owner of ${house} in ${street} has applied to the district council for leave to build ${work}. The drawings can be seen at the council offices from Monday to Friday between nine and four, or on the council's pages under the number of the application. Anyone who wishes to object to ${work} at ${house} must do so in writing within 21 days. Objections are public and will be shown to the applicant. The committee decides at its next meeting, at which those who have objected in writing may speak for three minutes.`,
  ),
  places: [
    ['Ansley', 'Dorvale', 'Tern'],
    ['Brackwell', 'Highmoor', 'Esk'],
    ['Corrow', 'Dorvale', 'Lune'],
    ['Dunsop', 'Westerley', 'Tern'],
  ].map(([place, county, river], seed) =>
    filled(
      (figure) =>
        `${place} is a parish in the county of ${county}, on the river ${river}. At the last census it had ${figure(900) + 100} inhabitants in ${figure(300) + 50} households. It covers an area of ${figure(4000) + 500} hectares, of which ${figure(80)} percent are farmland. ${place} lies ${figure(300)} metres above the sea. The church was built in ${figure(500) + 1200} and restored in ${figure(90) + 1800}. Trains stopped at ${place} until ${figure(60) + 1920}. The parish council has ${figure(9) + 3} members and meets in the village hall on the first Tuesday of every month. Buses run to the market town on weekdays. The primary school of ${place} has ${figure(90) + 10} pupils.`,
      seed + 3,
    ),
  ),
};

type Figure = (below: number) => number;

function fill(form: (figure: Figure) => string): string[] {
  return [1, 2, 3, 4].map((seed) => filled(form, seed));
}

/** Figures that look like chance and are always the same. */
function filled(form: (figure: Figure) => string, seed: number): string {
  let state = seed * 7919;
  return form((below) => {
    state = (state * 48_271) % 2_147_483_647;
    return 1 + (state % below);
  });
}
