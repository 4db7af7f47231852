import { historyLimit } from '../history-limit.ts';
import { decodeMessage } from '../message.ts';
import type { HistoryEntry, HistoryQuery } from '../port.ts';
import { checkPattern } from '../topics/topic.ts';
import type { Stored } from './journal/message-table.ts';
import type { JournalThread } from './journal/thread.ts';

/** Reads the journal in small steps, so that publishers get their turn between them. */
export async function readHistory(
  journal: JournalThread,
  last: number,
  query: HistoryQuery,
): Promise<HistoryEntry[]> {
  const pattern = query.topic ?? '#';
  checkPattern(pattern);
  const limit = historyLimit(query);
  return (await find(journal, last, { ...query, pattern, limit })).map(entryOf);
}

interface Search extends HistoryQuery {
  pattern: string;
  limit: number;
}

async function find(journal: JournalThread, last: number, search: Search): Promise<Stored[]> {
  const { correlationId, pattern, after, limit } = search;
  if (correlationId !== undefined) {
    const found = await journal.call('readCorrelation', correlationId, pattern, after, limit);
    return after === undefined ? found.reverse() : found;
  }
  return after === undefined ? newest(journal, search) : following(journal, after, last, search);
}

async function newest(journal: JournalThread, { pattern, limit }: Search): Promise<Stored[]> {
  const found: Stored[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; before > 0 && found.length < limit; ) {
    const page = await journal.call('readBackward', before, pattern, limit - found.length);
    found.push(...page.found);
    before = page.scannedTo;
  }
  return found.reverse();
}

async function following(
  journal: JournalThread,
  after: number,
  last: number,
  { pattern, limit }: Search,
): Promise<Stored[]> {
  const found: Stored[] = [];
  for (let scanned = after; scanned < last && found.length < limit; ) {
    const page = await journal.call('readForward', scanned, pattern, '', limit - found.length);
    found.push(...page.found);
    scanned = page.scannedTo;
  }
  return found;
}

function entryOf([position, body]: Stored): HistoryEntry {
  return { position, message: decodeMessage(body) };
}
