import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../failure.ts';
import { createFactbook } from './factbook.ts';
import { citedAs, missingWords, type OfflineShelf, type ShelfEntry } from './shelf.ts';
import { createWordNet } from './wordnet.ts';

const MOST_ENTRIES = 6;

const input = z.object({
  query: z.string().max(500),
});

function offlineShelves(): OfflineShelf[] {
  return [createFactbook(), createWordNet()];
}

/** Answers from reference works that are installed with Trunkline, without the network. */
export function createLookUp(shelves: readonly OfflineShelf[] = offlineShelves()): Tool {
  return defineTool({
    name: 'look_up',
    effects: ['reads'],
    description:
      'Offline: facts about countries (World Factbook, 2015) and meanings of English words (WordNet).',
    input,
    execute: ({ query }, { signal }) =>
      orRefusal(async () => {
        const answers: string[] = [];
        for (const shelf of shelves.filter((each) => each.isInstalled())) {
          const entries = await shelf.search(query, MOST_ENTRIES, signal);
          // A country's name is a word too; the first work that knows it answers.
          if (entries.length > 0 && answers.length === 0) answers.push(answer(shelf, entries));
        }
        return answers[0] ?? nothing(query, shelves);
      }, signal),
  });
}

function answer(shelf: OfflineShelf, entries: readonly ShelfEntry[]): string {
  const compared = comparison(entries);
  const lines = entries.flatMap(({ snippet }) => snippet.split('\n'));
  return [...lines, ...compared, `Source: ${citedAs(shelf)}.`].join('\n');
}

/** Where two or more entries give one figure each, how the largest compares with the others. */
function comparison(entries: readonly ShelfEntry[]): string[] {
  const figures = entries.map(({ title, snippet }) => ({ title, figure: figureOf(snippet) }));
  const known = figures.filter((each): each is { title: string; figure: number } => (each.figure ?? 0) > 0);
  const [first, ...others] = known.sort((left, right) => right.figure - left.figure);
  if (first === undefined || others.length === 0 || known.length < entries.length) return [];
  const ratios = others.map(({ title, figure }) => `${times(first.figure / figure)} that of ${title}`);
  return [`${first.title}'s figure is ${ratios.join(' and ')}.`];
}

function times(ratio: number): string {
  return ratio < 1.005 ? 'the same as' : `${ratio.toFixed(ratio < 10 ? 2 : 0).replace(/\.?0+$/, '')} times`;
}

const magnitudes: Record<string, number> = { million: 1e6, billion: 1e9, trillion: 1e12 };

function figureOf(snippet: string): number | undefined {
  const [, digits, magnitude = ''] =
    /^[^:\n]+: [$]?(\d[\d,]*(?:\.\d+)?)(?: (million|billion|trillion))?[^\n]*$/.exec(snippet) ?? [];
  return digits === undefined ? undefined : Number(digits.replaceAll(',', '')) * (magnitudes[magnitude] ?? 1);
}

function nothing(query: string, shelves: readonly OfflineShelf[]): string {
  const missing = shelves.filter((shelf) => !shelf.isInstalled());
  if (missing.length === shelves.length) return `Error: ${missing.map(missingWords).join(' ')}`;
  const known = shelves.filter((shelf) => shelf.isInstalled());
  const asked = query.replace(/https?:\S+/gi, '[address]').slice(0, 100);
  return [
    `Nothing was found offline for "${asked}".`,
    ...known.map((shelf) => `${citedAs(shelf)} has ${shelf.covers}.`),
    ...missing.map(missingWords),
  ].join(' ');
}
