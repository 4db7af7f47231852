import { citedAs, createFactbook, createWordNet, type OfflineShelf } from '@trunkline/tools';
import { defineSource, type SourceClient } from './source.ts';

const shelves = { factbook: createFactbook(), wordnet: createWordNet({ bareWords: false }) };

/** Country profiles, from an optional package. */
export const factbook = shelfSource(shelves.factbook);

/** Meanings of English words, from an optional package. */
export const wordnet = shelfSource(shelves.wordnet);

function shelfSource(shelf: OfflineShelf) {
  return defineSource({
    name: shelf.name,
    title: shelf.title,
    kind: 'offline',
    isReference: true,
    options: {},
    create: () => (shelf.isInstalled() ? shelfClient(shelf) : undefined),
  });
}

function shelfClient(shelf: OfflineShelf): SourceClient {
  return {
    async search({ text, limit }, signal) {
      const entries = await shelf.search(text, limit, signal);
      return entries.map(({ id, title, snippet }) => ({
        title: `${title}, ${citedAs(shelf)}`,
        url: `${offlineAddress}${shelf.name}/${encodeURIComponent(id)}`,
        snippet: snippet.replace(/\s+/g, ' '),
        engines: [shelf.name],
      }));
    },
    async read({ url, snippet }, signal) {
      const entry = await readOffline(
        shelf.name,
        decodeURIComponent(url.slice(url.lastIndexOf('/') + 1)),
        signal,
      );
      // What answers the query stands first, where it is read even of a long profile.
      return entry && { title: entry.title, url, text: `${snippet}\n${entry.text}` };
    },
  };
}

/** Where an entry is read on this service. */
export const offlineAddress = '/api/offline/';

/** An entry of an offline work, with the name of the work in its title. */
export async function readOffline(
  name: string,
  id: string,
  signal: AbortSignal,
): Promise<{ title: string; text: string } | undefined> {
  const shelf = Object.values(shelves).find((each) => each.name === name);
  if (shelf?.isInstalled() !== true) return undefined;
  const entry = await shelf.read(id, signal);
  return entry && { title: `${entry.title}, ${citedAs(shelf)}`, text: entry.text };
}
