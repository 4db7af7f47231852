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

/** Things that wait in the inbox; put in again under their key when no answer came. */
export function inboxLoad({ urls, now }: Ground): Load {
  const url = `${urls.agent}/api/inbox`;
  const jumpedS = () => Math.round((now() - Date.now()) / 1000);
  return {
    name: 'agent inbox',
    pauseMs: 3000,
    async offer(mark) {
      const item = { text: `Look at ${mark}`, dedup_key: mark };
      const before = jumpedS();
      const answers = [await call(url, item)];
      // A key counts for some time only: behind a jump of the clock the same thing would be a new one.
      if (jumpedS() === before) answers.push(await call(url, item));
      return answers.some(({ isGood }) => isGood) ? { id: mark, mark } : undefined;
    },
    standings: async (entries) => keptOnce(entries, await inboxTexts(url)),
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

async function inboxTexts(url: string): Promise<string[]> {
  const found: string[] = [];
  for (let offset: number | null = 0; offset !== null; ) {
    const page: InboxPage = (
      await call<InboxPage>(`${url}?include_delivered=true&limit=100&offset=${offset}`)
    ).body;
    found.push(...page.items.map(({ text }) => text));
    offset = page.next;
  }
  return found;
}

interface InboxPage {
  items: { text: string }[];
  next: number | null;
}
