import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** An entry that a search of a reference work found. */
export interface ShelfEntry {
  id: string;
  title: string;
  /** Sentences that answer the query, one a line. */
  snippet: string;
}

/** A reference work that is installed as an optional package and read from disk. */
export interface OfflineShelf {
  name: string;
  title: string;
  /** The month or version of the data. */
  edition: string;
  /** What it can be asked about. */
  covers: string;
  isInstalled(): boolean;
  /** Entries that the query names; none for anything else. Throws where the package is missing. */
  search(query: string, limit: number, signal: AbortSignal): Promise<ShelfEntry[]>;
  /** The whole text of an entry. */
  read(id: string, signal: AbortSignal): Promise<{ title: string; text: string } | undefined>;
}

/** Where an optional package is installed. */
export function packageFolder(name: string): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    // Optional packages may be left out; the tool then says how to install them.
    return undefined;
  }
}

/** "World Factbook (offline, November 2015)". */
export function citedAs({ title, edition }: Pick<OfflineShelf, 'title' | 'edition'>): string {
  return title.replace('(offline)', `(offline, ${edition})`);
}

export function missingWords({ title }: Pick<OfflineShelf, 'title'>): string {
  return `${title} is not installed. Run "npm install" without --omit=optional.`;
}
