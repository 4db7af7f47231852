import type { ExtractedDocument } from './document.ts';

/** Signs of text that no font shows; a model reads a message in them all the same. */
const SMUGGLED = /[\u{E0000}-\u{E007F}]|[\u{E0100}-\u{E01EF}]/gu;
/** Controls, marks of direction and fillers: they part words that readers see as one, and nothing else. */
const BLANK =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those of a text are what is looked for
  /[\u0000-\u0008\u000E-\u001F\u007F-\u009F\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u202A\u202B\u202C\u202D\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]|\u034F/g;
const ANY = new RegExp(`${SMUGGLED.source}|${BLANK.source}|\\u202E`, 'u');
/** Shown from right to left, whatever the script: readers see it turned round. */
const TURNED = /\u202E([^\u202C\n]*)\u202C?/g;

/** The document as it looks: without characters that nobody sees, and what is shown backwards as it is shown. */
export function asSeen(document: ExtractedDocument): ExtractedDocument {
  const title = seenText(document.title);
  if (!ANY.test(document.text)) return title === document.title ? document : { ...document, title };
  const { text, blocks, mainLength } = document;
  // Each stretch is cleaned by itself, so that blocks keep their places.
  const cuts = [...new Set([0, ...blocks.flatMap(({ start, end }) => [start, end]), mainLength, text.length])]
    .filter((cut) => cut <= text.length)
    .sort((left, right) => left - right);
  const places = new Map<number, number>([[0, 0]]);
  let seen = '';
  for (const [index, cut] of cuts.entries()) {
    seen += seenText(text.slice(cuts[index - 1] ?? 0, cut));
    places.set(cut, seen.length);
  }
  const placeOf = (cut: number) => places.get(cut) ?? seen.length;
  return {
    ...document,
    title,
    text: seen,
    mainLength: placeOf(mainLength),
    blocks: blocks.map((block) => ({ ...block, start: placeOf(block.start), end: placeOf(block.end) })),
    hidden: document.hidden + (text.match(SMUGGLED)?.length ?? 0),
  };
}

/** A single text as it looks. */
export function seenText(text: string): string {
  if (!ANY.test(text)) return text;
  return text
    .replace(TURNED, (_, turned: string) => turnedRound(turned))
    .replaceAll('\u202E', '')
    .replace(SMUGGLED, '')
    .replace(BLANK, '');
}

export function turnedRound(text: string): string {
  return [...text].toReversed().join('');
}
