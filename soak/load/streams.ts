import { setTimeout as delay } from 'node:timers/promises';
import { follow, rpc, textMessage } from '../http.ts';
import type { Entry, Standing } from '../ledger.ts';
import { type Ground, type Load, oneByOne } from './load.ts';
import { answerOf, taskStanding } from './tasks.ts';

/** What one reader has seen of its task. */
interface Reader {
  taskId: string | undefined;
  lastEventId: string | undefined;
  /** Set when the stream told the end. */
  isOver: boolean;
  text: string;
  /** Set when an event came twice or out of order. */
  isOutOfOrder: boolean;
}

interface Frame {
  result?: {
    kind: string;
    id?: string;
    final?: boolean;
    artifact?: { artifactId: string; parts: { text?: string }[] };
  };
}

const retryMs = 500;

/** Streams whose readers come back after every loss, and must have seen the whole answer in the end. */
export function streamLoad(ground: Ground): Load {
  const url = ground.urls.agent;
  const readers = new Map<string, Reader>();
  return {
    name: 'agent streams',
    pauseMs: 2500,
    async offer(mark) {
      const reader = newReader();
      const accepted = Promise.withResolvers<void>();
      const first = { method: 'message/stream', params: { message: textMessage(mark) } };
      readStream(ground, reader, first, accepted.resolve).catch(accepted.reject);
      await accepted.promise;
      readers.set(reader.taskId ?? '', reader);
      return { id: reader.taskId ?? '', mark };
    },
    standings: (entries) =>
      oneByOne(entries, (entry) => streamStanding(url, entry, readers.get(entry.id) ?? newReader())),
  };
}

function newReader(): Reader {
  return { taskId: undefined, lastEventId: undefined, isOver: false, text: '', isOutOfOrder: false };
}

/** Reads to the end, over as many connections as it takes. */
async function readStream(ground: Ground, reader: Reader, first: object, accepted: () => void) {
  let request = first;
  while (!reader.isOver && !ground.signal.aborted) {
    await readConnection(ground, reader, request, accepted).catch((error: unknown) => {
      if (reader.taskId === undefined) throw error;
    });
    if (reader.taskId === undefined) throw new Error('The stream ended before it named its task.');
    request = { method: 'tasks/resubscribe', params: { id: reader.taskId } };
    if (!reader.isOver) await delay(retryMs);
  }
}

async function readConnection(ground: Ground, reader: Reader, request: object, accepted: () => void) {
  const { random, signal, urls } = ground;
  // Some connections are lost on the way, whether the process lives or not.
  const loseAfter = random.chance(0.3) ? random.between(1, 5) : Number.POSITIVE_INFINITY;
  const connection = new AbortController();
  const body = { jsonrpc: '2.0', id: 1, ...request };
  const { lastEventId } = reader;
  const either = AbortSignal.any([signal, connection.signal]);
  let seen = 0;
  for await (const event of follow({ url: `${urls.agent}/a2a`, body, lastEventId, signal: either })) {
    take(reader, event.id, event.data as Frame);
    if (reader.taskId !== undefined) accepted();
    seen += 1;
    if (seen >= loseAfter || reader.isOver) connection.abort();
  }
}

function take(reader: Reader, id: string | undefined, { result }: Frame): void {
  if (result === undefined) return;
  if (Number(id) <= Number(reader.lastEventId ?? -1)) reader.isOutOfOrder = true;
  reader.lastEventId = id;
  if (result.kind === 'task') reader.taskId ??= result.id;
  if (result.artifact?.artifactId === 'answer')
    reader.text += result.artifact.parts.map(({ text = '' }) => text).join('');
  if (result.final === true) reader.isOver = true;
}

async function streamStanding(url: string, entry: Entry, reader: Reader): Promise<Standing> {
  const standing = await taskStanding(url, entry);
  if (standing.state !== 'answered') return standing;
  if (!reader.isOver) return { ...standing, state: 'pending', reason: 'its reader has not seen the end' };
  const task = await rpc(url, 'tasks/get', { id: entry.id });
  if (reader.isOutOfOrder) return { ...standing, state: 'missing', reason: 'its reader saw an event twice' };
  if (task !== undefined && reader.text !== answerOf(task))
    return { ...standing, state: 'missing', reason: `its reader saw only "${reader.text}"` };
  return standing;
}
