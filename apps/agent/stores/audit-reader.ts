import { type FileHandle, open } from 'node:fs/promises';

/** A line of the audit log. */
export interface AuditLine {
  ts: string;
  session_id: string;
  tool: string;
  args: unknown;
  result_summary: string;
  duration_ms: number;
  success: boolean;
}

export interface AuditFilter {
  tool?: string | undefined;
  session?: string | undefined;
  success?: boolean | undefined;
  /** Words that stand somewhere in the line. */
  search?: string | undefined;
}

export interface AuditPage {
  lines: AuditLine[];
  /** Where the next page begins; null when there is nothing older. */
  next: string | null;
}

/** Which of the two files, and how many bytes of it are still to be read. */
interface Place {
  file: number;
  end: number;
}

const chunkBytes = 64 * 1024;
/** One page looks through this much at most, so that a filter which fits nothing ends too. */
const maxBytes = 8 * 1024 * 1024;

/** Reads the log from its end backwards, the newest first; what was rotated away comes after. */
export async function readAudit(
  path: string,
  filter: AuditFilter,
  limit: number,
  cursor: string | undefined,
): Promise<AuditPage> {
  const files = [path, `${path}.1`];
  const lines: AuditLine[] = [];
  let place: Place | undefined = placeOf(cursor) ?? { file: 0, end: Number.POSITIVE_INFINITY };
  let left = maxBytes;
  while (place !== undefined && left > 0) {
    for await (const { text, start } of linesBackwards(files[place.file] ?? '', place.end)) {
      left -= text.length + 1;
      const line = parse(text);
      if (line !== undefined && fits(line, text, filter)) lines.push(line);
      if (lines.length >= limit || left <= 0) return { lines, next: `${place.file}.${start}` };
    }
    place =
      place.file + 1 < files.length ? { file: place.file + 1, end: Number.POSITIVE_INFINITY } : undefined;
  }
  return { lines, next: null };
}

function placeOf(cursor: string | undefined): Place | undefined {
  const [, file, end] = /^([01])\.(\d{1,15})$/.exec(cursor ?? '') ?? [];
  return file === undefined ? undefined : { file: Number(file), end: Number(end) };
}

async function* linesBackwards(path: string, end: number): AsyncGenerator<{ text: string; start: number }> {
  const handle = await openOrNone(path);
  if (handle === undefined) return;
  try {
    let position = Math.min(end, (await handle.stat()).size);
    let rest = Buffer.alloc(0);
    while (position > 0) {
      const size = Math.min(chunkBytes, position);
      position -= size;
      const chunk = Buffer.alloc(size);
      await handle.read(chunk, 0, size, position);
      const bytes = Buffer.concat([chunk, rest]);
      let stop = bytes.length;
      for (
        let at = bytes.lastIndexOf(10, stop - 1);
        at !== -1;
        at = at === 0 ? -1 : bytes.lastIndexOf(10, at - 1)
      ) {
        const text = bytes.toString('utf8', at + 1, stop);
        if (text !== '') yield { text, start: position + at + 1 };
        stop = at;
      }
      rest = bytes.subarray(0, stop);
    }
    if (rest.length > 0) yield { text: rest.toString('utf8'), start: 0 };
  } finally {
    await handle.close();
  }
}

async function openOrNone(path: string): Promise<FileHandle | undefined> {
  return await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** A line that was cut off by a crash is no line. */
function parse(text: string): AuditLine | undefined {
  try {
    return JSON.parse(text) as AuditLine;
  } catch {
    return undefined;
  }
}

function fits(line: AuditLine, text: string, { tool, session, success, search }: AuditFilter): boolean {
  return (
    (tool === undefined || line.tool === tool) &&
    (session === undefined || line.session_id === session) &&
    (success === undefined || line.success === success) &&
    (search === undefined || text.toLowerCase().includes(search.toLowerCase()))
  );
}
