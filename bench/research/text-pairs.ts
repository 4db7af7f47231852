import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { forms } from './forms.ts';
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
