// Runs in a thread or a process: takes raw pages and files, gives back their text.

// Most are pages: what reads them is loaded before the time of the first task counts.
import './html/html.ts';
import type { ExtractedDocument, RawDocument } from './document.ts';
import { extract } from './read.ts';
import { serveParser } from './threads/parser-thread.ts';

serveParser(async (raw: RawDocument): Promise<Omit<ExtractedDocument, 'blocks'>> => {
  const { blocks, ...document } = await extract(raw);
  return document;
});
