import type { SearchResult } from '../sources/source.ts';

/** A result with the number by which the answer cites it. */
export interface NumberedResult extends SearchResult {
  number: number;
}

/** What the searches of one turn found, numbered in the order of finding; an address keeps its number. */
export class TurnSources {
  readonly #numbered = new Map<string, NumberedResult>();

  number(result: SearchResult): NumberedResult {
    const numbered = this.#numbered.get(result.url) ?? { number: this.#numbered.size + 1, ...result };
    this.#numbered.set(result.url, numbered);
    return numbered;
  }

  all(): NumberedResult[] {
    return [...this.#numbered.values()];
  }

  /** Those that the text cites; none when it cites nothing. */
  citedIn(text: string): NumberedResult[] {
    const cited = new Set([...text.matchAll(/\[(\d{1,3})\]/g)].map(([, number]) => Number(number)));
    return this.all().filter(({ number }) => cited.has(number));
  }
}
