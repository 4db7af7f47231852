import type { SearchResult } from '../sources/source.ts';

/** A result with the number by which the answer cites it. */
export interface NumberedResult extends SearchResult {
  number: number;
}

/** What the searches of one turn found, numbered in the order of finding, and what they could not search. */
export class TurnSources {
  readonly #numbered = new Map<string, NumberedResult>();
  readonly #troubles = new Set<string>();

  /** An address keeps its number. */
  number(result: SearchResult): NumberedResult {
    const numbered = this.#numbered.get(result.url) ?? { number: this.#numbered.size + 1, ...result };
    this.#numbered.set(result.url, numbered);
    return numbered;
  }

  /** Notes in words which services could not be asked. */
  addTroubles(troubles: readonly string[]): void {
    for (const trouble of troubles) this.#troubles.add(trouble);
  }

  troubles(): string[] {
    return [...this.#troubles];
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
