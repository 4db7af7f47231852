import { setTimeout as delay } from 'node:timers/promises';
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JsMsg,
} from '@nats-io/jetstream';
import { nanos, TimeoutError } from '@nats-io/transport-node';
import { errorMessage } from '@trunkline/std';
import { BusError } from '../errors.ts';
import type { BusLogger, HistoryEntry, HistoryQuery } from '../port.ts';
import { checkPattern, coversPattern, matchesTopic } from '../topics/topic.ts';
import type { DurableTopics } from '../topics/topic-index.ts';
import { filterOf, onlyFor, type Resources, readMessage } from './resources.ts';
import { isTemporary } from './stream-keeper.ts';

const fetchSize = 500;

const fetchTimeoutMs = 5000;

const idleMs = 30_000;

/** How many readers may end before the rest is given up. */
const mostReaders = 12;
const readAgainMs = 100;

/** How far back a search for the newest goes. */
const maximumScan = 100_000;

interface Search {
  pattern: string;
  filter: string | undefined;
  limit: number;
  correlationId: string | undefined;
}

/** Reads the journal stream; NATS has no index by correlation, so that search goes over the newest 100,000 messages. */
export async function readNatsHistory(
  resources: Resources,
  prefix: string,
  durableTopics: DurableTopics,
  query: HistoryQuery & { limit: number },
  logger: BusLogger,
): Promise<HistoryEntry[]> {
  const pattern = query.topic ?? '#';
  checkPattern(pattern);
  const { limit, correlationId, after, before } = query;
  // The server takes only filters that lie within the stream; what else there is, is sorted out here.
  const covered = durableTopics.patterns.some((durable) => coversPattern(durable, pattern));
  const filter = covered ? filterOf(prefix, pattern) : undefined;
  const search = { pattern, filter, limit, correlationId };
  return after === undefined
    ? newest(resources, before, search, logger)
    : following(resources, after, search, logger);
}

async function following(
  resources: Resources,
  after: number,
  search: Search,
  logger: BusLogger,
): Promise<HistoryEntry[]> {
  const found: HistoryEntry[] = [];
  for await (const entry of entriesFrom(resources, after + 1, search, logger)) {
    found.push(entry);
    if (found.length >= search.limit) break;
  }
  return found;
}

/** Looks at a stretch at the end, and at four times as much as long as that holds too few. */
async function newest(
  resources: Resources,
  before = Number.MAX_SAFE_INTEGER,
  search: Search,
  logger: BusLogger,
): Promise<HistoryEntry[]> {
  const { state } = await resources.manager.streams.info(resources.journal);
  const last = Math.min(state.last_seq, before - 1);
  const earliest = Math.max(state.first_seq, last - maximumScan + 1);
  if (last < earliest) return [];
  for (let span = search.limit * 4; ; span *= 4) {
    const from = Math.max(earliest, last - span + 1);
    const found: HistoryEntry[] = [];
    for await (const entry of entriesFrom(resources, from, search, logger)) {
      if (entry.position >= before) break;
      if (found.push(entry) > search.limit) found.shift();
    }
    if (found.length >= search.limit || from === earliest) return found;
  }
}

async function* entriesFrom(
  resources: Resources,
  from: number,
  { pattern, filter, correlationId }: Search,
  logger: BusLogger,
): AsyncGenerator<HistoryEntry> {
  for await (const stored of readStream(resources, { stream: resources.journal, filter, from })) {
    if (onlyFor(stored) !== undefined) continue;
    const message = readMessage(stored, logger);
    if (message === undefined || !matchesTopic(pattern, message.topic)) continue;
    if (correlationId === undefined || message.correlationId === correlationId)
      yield { position: stored.seq, message };
  }
}

interface StreamRange {
  stream: string;
  /** Must lie within the subjects of the stream. */
  filter?: string | undefined;
  /** The first sequence to look at. */
  from: number;
}

/**
 * Goes over the stored messages of a stream in order, up to those that were there at the start. A reader of ours lives on one
 * server: when that one dies, another reader goes on behind the last message.
 */
export async function* readStream(resources: Resources, range: StreamRange): AsyncGenerator<JsMsg> {
  let { from } = range;
  for (let attempt = 1; ; attempt += 1) {
    try {
      for await (const message of readOnce(resources, { ...range, from })) {
        yield message;
        from = message.seq + 1;
      }
      return;
    } catch (error) {
      const isGone = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
      const mayHelp = isGone || isSilent(error) || isTemporary(error);
      if (!mayHelp || attempt === mostReaders) throw unread(error);
      await delay(attempt * readAgainMs);
    }
  }
}

/** Throws a TimeoutError when the reader's server does not answer. */
async function* readOnce({ client, manager }: Resources, range: StreamRange): AsyncGenerator<JsMsg> {
  const { name, num_pending } = await manager.consumers.add(range.stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(range.from, 1),
    ...(range.filter === undefined ? {} : { filter_subject: range.filter }),
    inactive_threshold: nanos(idleMs),
  });
  try {
    const consumer = await client.consumers.get(range.stream, name);
    for (let left = num_pending; left > 0; ) {
      const batch = await consumer.fetch({
        max_messages: Math.min(left, fetchSize),
        expires: fetchTimeoutMs,
      });
      const before = left;
      for await (const message of batch) {
        left -= 1;
        yield message;
      }
      if (left === before) throw new TimeoutError();
    }
  } finally {
    // Where nobody answers, the server removes it when it is idle.
    manager.consumers.delete(range.stream, name).catch(() => undefined);
  }
}

/** The client's words for a server that is busy or gone. */
function isSilent(error: unknown): boolean {
  return error instanceof Error && error.message === 'heartbeats missed';
}

function unread(error: unknown): BusError {
  if (error instanceof BusError) return error;
  const words = `The journal on NATS cannot be read: ${errorMessage(error)}. Try again.`;
  return new BusError('unavailable', words, { cause: error });
}
