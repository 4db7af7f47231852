import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { estimateTokens } from '@trunkline/loop';
import { systemCode } from '@trunkline/std';
import { readJsonFile, safeFileName, writeFileAtomic } from '@trunkline/storage';
import { oneLine } from '@trunkline/tools';
import { z } from 'zod';
import { isOfOneConversation, operatorScope } from '../owners.ts';

const recordSchema = z.object({
  session_id: z.string(),
  trace_id: z.string().nullable(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  tool_calls: z.number(),
  final_output: z.string(),
  /** Request and result, in a line or two. */
  summary: z.string().default(''),
  timestamp: z.string(),
  /** Whose memory it is. */
  scope: z.string().default(operatorScope),
});

export type SessionRecord = z.output<typeof recordSchema>;

export interface SessionMemoryOptions {
  directory: string;
  /** False: nothing is written, what is there is still read. */
  write: boolean;
  /** Older files are deleted, at the start and after as many writes: a running service has twice as many at most. */
  maxFiles?: number;
  logger: Logger;
}

/** What of a session was drawn from text that the operator does not vouch for. */
interface Outside {
  question: boolean;
  answer: boolean;
}

const usualFiles = 1000;
/** More sessions than this are not held in memory. */
const maxRecent = 100;
const maxQuoteLength = 240;

/** What earlier sessions were about: one JSON file each, and the newest in memory. */
export class SessionMemory {
  readonly #options: SessionMemoryOptions;
  readonly #recent = new Map<string, SessionRecord>();
  readonly #writes = new Set<Promise<void>>();
  readonly #maxFiles: number;
  #writesSinceTrim = 0;

  constructor(options: SessionMemoryOptions) {
    this.#options = options;
    this.#maxFiles = options.maxFiles ?? usualFiles;
  }

  /** Reads the newest files, and removes the oldest where there are too many. */
  async load(): Promise<void> {
    const names = (await readdir(this.#options.directory)).filter((name) => name.endsWith('.json'));
    const records = (await Promise.all(names.map((name) => this.#read(name)))).filter(
      (entry) => entry !== undefined,
    );
    records.sort((left, right) => left.record.timestamp.localeCompare(right.record.timestamp));
    for (const { name } of records.slice(0, -this.#maxFiles)) await rm(join(this.#options.directory, name));
    const shared = records.filter(({ record }) => !isOfOneConversation(record.scope));
    for (const { record } of shared) this.#remember(record);
  }

  /** Stores a session as it stands after a turn; writes the file in the background. */
  keep({
    outside = { question: false, answer: false },
    ...session
  }: Omit<SessionRecord, 'summary' | 'timestamp'> & { outside?: Outside }): void {
    const summary = summaryOf(session, outside);
    const record = { ...session, summary, timestamp: new Date().toISOString() };
    if (this.#options.write) this.#write(record);
    // No other conversation is ever shared of it.
    if (isOfOneConversation(record.scope)) return;
    this.#remember({ ...record, messages: [] });
  }

  /** Beyond the bound the oldest goes of whoever has most: nobody's digest is pushed out by the sessions of another. */
  #remember(record: SessionRecord): void {
    this.#recent.delete(record.session_id);
    this.#recent.set(record.session_id, record);
    if (this.#recent.size <= maxRecent) return;
    const all = [...this.#recent.values()];
    const counts = Map.groupBy(all, ({ scope }) => scope);
    const most = [...counts.values()].reduce((one, other) => (other.length > one.length ? other : one));
    this.#recent.delete(most[0]?.session_id ?? '');
  }

  /** A digest of earlier sessions of the same scope, newest first, within the limits. */
  digest(
    scope: string,
    exceptSession: string,
    { sessions, tokens }: { sessions: number; tokens: number },
  ): string {
    const others = [...this.#recent.values()]
      .reverse()
      .filter((record) => record.scope === scope && record.session_id !== exceptSession);
    const lines: string[] = [];
    let size = 0;
    for (const { timestamp, summary } of others.slice(0, sessions)) {
      const line = `- ${timestamp.slice(0, 16).replace('T', ' ')}: ${summary}`;
      size += estimateTokens(line);
      if (size > tokens) break;
      lines.push(line);
    }
    return lines.join('\n');
  }

  /** Counts what is in memory of one scope for another. The files keep theirs. */
  adopt(from: string, to: string): void {
    for (const record of this.#recent.values()) if (record.scope === from) record.scope = to;
  }

  async forget(sessionId: string): Promise<void> {
    this.#recent.delete(sessionId);
    await this.settled();
    if (this.#options.write) await rm(this.#fileOf(sessionId), { force: true });
  }

  /** Resolves when all records so far are written. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes);
  }

  #write(record: SessionRecord): void {
    // No safer than the conversation itself, whose rows wait for no disk either.
    this.#run(
      writeFileAtomic(this.#fileOf(record.session_id), JSON.stringify(record, null, 2), { sync: false }),
      'failed to store session summary',
    );
    this.#writesSinceTrim += 1;
    if (this.#writesSinceTrim < this.#maxFiles) return;
    this.#writesSinceTrim = 0;
    this.#run(this.#trim(), 'failed to delete old session summaries');
  }

  #run(work: Promise<void>, failure: string): void {
    const run = work
      .catch((error: unknown) => this.#options.logger.error({ err: error }, failure))
      .finally(() => this.#writes.delete(run));
    this.#writes.add(run);
  }

  async #trim(): Promise<void> {
    const { directory } = this.#options;
    await Promise.all(this.#writes);
    const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
    const files = await Promise.all(names.map((name) => writtenAt(join(directory, name))));
    files.sort((left, right) => left.at - right.at);
    for (const { file, at } of files.slice(0, -this.#maxFiles)) {
      // A session that went on meanwhile has written its file anew.
      if ((await writtenAt(file)).at === at) await rm(file, { force: true });
    }
  }

  #fileOf(sessionId: string): string {
    return join(this.#options.directory, `${safeFileName(sessionId)}.json`);
  }

  async #read(name: string): Promise<{ name: string; record: SessionRecord } | undefined> {
    const file = join(this.#options.directory, name);
    try {
      return { name, record: recordSchema.parse(await readJsonFile(file)) };
    } catch (error) {
      this.#options.logger.warn({ err: error, file }, 'failed to read session summary');
      return undefined;
    }
  }
}

/** Text from outside is not quoted: the instructions of later sessions would hold it. */
function summaryOf(
  { messages, final_output }: Pick<SessionRecord, 'messages' | 'final_output'>,
  outside: Outside,
): string {
  const asked = messages.find(({ role }) => role === 'user')?.content ?? '';
  const question = outside.question ? 'a message from outside' : `asked "${oneLine(asked, maxQuoteLength)}"`;
  const answer = outside.answer ? 'with text from outside' : `"${oneLine(final_output, maxQuoteLength)}"`;
  return `${question}, answered ${answer}`;
}

/** A file that somebody deleted meanwhile counts as the oldest. */
async function writtenAt(file: string): Promise<{ file: string; at: number }> {
  try {
    return { file, at: (await stat(file)).mtimeMs };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { file, at: 0 };
    throw error;
  }
}
