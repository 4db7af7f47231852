import { call } from '../http.ts';
import { type Ground, hasMark, keptOnce, type Load } from './load.ts';

/** What the agent remembers. */
export function memoryLoad({ urls }: Ground): Load {
  const url = `${urls.agent}/api/knowledge/chunks`;
  return {
    name: 'agent memory',
    pauseMs: 3000,
    async offer(mark) {
      const { isGood } = await call(url, { content: `Remember ${mark}.` });
      return isGood ? { id: mark, mark } : undefined;
    },
    standings: async (entries) => keptOnce(entries, await chunks(url)),
  };
}

/** Notes are replaced as a whole, each time with one line more. */
export function notesLoad({ urls }: Ground): Load {
  const url = `${urls.agent}/api/notes/workspace`;
  return {
    name: 'agent notes',
    pauseMs: 3000,
    async offer(mark) {
      const notes = await readNotes(url);
      notes.tabs.notes.content += `${mark}\n`;
      const { isGood } = await call(url, notes, 'PUT');
      return isGood ? { id: mark, mark } : undefined;
    },
    standings: async (entries) => keptOnce(entries, (await readNotes(url)).tabs.notes.content.split('\n')),
  };
}

/** A key counts for so long by the service's clock: behind a jump the same thing is a new one. */
const keyLifeMs = 300_000;

/** Things that wait in the inbox; put in again under their key, also when no answer came. */
export function inboxLoad({ urls }: Ground): Load {
  const url = `${urls.agent}/api/inbox`;
  return {
    name: 'agent inbox',
    pauseMs: 3000,
    async offer(mark) {
      const item = { text: `Look at ${mark}`, dedup_key: mark };
      const answers = [await call(url, item), await call(url, item)];
      return answers.some(({ isGood }) => isGood) ? { id: mark, mark } : undefined;
    },
    standings: async (entries) => keptOnce(entries, withoutExpired(await inboxItems(url))),
  };
}

interface Notes {
  tabs: { notes: { content: string } };
}

async function readNotes(url: string): Promise<Notes> {
  return (await call<Notes>(url)).body;
}

async function chunks(url: string): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&before=${encodeURIComponent(cursor)}`;
    const { body } = await call<{ chunks: { content: string }[]; next: string | null }>(
      `${url}?limit=100${query}`,
    );
    found.push(...body.chunks.map(({ content }) => content));
    cursor = body.next;
  }
  return found.filter((text) => hasMark(text, 'soak-[\\w-]+'));
}

/** Leaves out what was rightly taken again, as its key had expired. */
function withoutExpired(items: readonly InboxItem[]): string[] {
  const times = new Map<string, number[]>();
  for (const { text, created_at } of items)
    times.set(
      text,
      [...(times.get(text) ?? []), Date.parse(created_at)].sort((a, b) => a - b),
    );
  return [...times].flatMap(([text, at]) =>
    at.filter((time, index) => index === 0 || time - (at[index - 1] ?? 0) < keyLifeMs).map(() => text),
  );
}

async function inboxItems(url: string): Promise<InboxItem[]> {
  const found: InboxItem[] = [];
  for (let offset: number | null = 0; offset !== null; ) {
    const page: InboxPage = (
      await call<InboxPage>(`${url}?include_delivered=true&limit=100&offset=${offset}`)
    ).body;
    found.push(...page.items);
    offset = page.next;
  }
  return found;
}

interface InboxItem {
  text: string;
  created_at: string;
}

interface InboxPage {
  items: InboxItem[];
  next: number | null;
}
