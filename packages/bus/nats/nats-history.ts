import { setTimeout as delay } from 'node:timers/promises';
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JsMsg,
  type StreamState,
} from '@nats-io/jetstream';
import { nanos, TimeoutError } from '@nats-io/transport-node';
import { errorMessage } from '@trunkline/std';
import { BusError } from '../errors.ts';
import type { BusLogger, HistoryEntry, HistoryQuery } from '../port.ts';
import { checkPattern, coversPattern, matchesTopic } from '../topics/topic.ts';
import type { DurableTopics } from '../topics/topic-index.ts';
import { isTemporary, StaleCopyError } from './jetstream-errors.ts';
import { filterOf, onlyFor, type Resources, readMessage } from './resources.ts';

const fetchSize = 500;

const fetchTimeoutMs = 5000;

const idleMs = 30_000;

/** How many readers may end before the rest is given up. */
const mostReaders = 20;
const readAgainMs = 100;
const longestPauseMs = 1000;
/** How long the servers may take to elect a leader who says what a stream holds. */
const stateTimeoutMs = 15_000;
/** A single copy that has said the same so many times was set back. */
const settledAfter = 3;

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
  const { last_seq: until } = await stateOf(resources, resources.journal);
  const found: HistoryEntry[] = [];
  for await (const entry of entriesFrom(resources, { from: after + 1, until }, search, logger)) {
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
  const { first_seq, last_seq } = await stateOf(resources, resources.journal);
  const last = Math.min(last_seq, before - 1);
  const earliest = Math.max(first_seq, last - maximumScan + 1);
  if (last < earliest) return [];
  for (let span = search.limit * 4; ; span *= 4) {
    const from = Math.max(earliest, last - span + 1);
    const found: HistoryEntry[] = [];
    for await (const entry of entriesFrom(resources, { from, until: last }, search, logger)) {
      if (found.push(entry) > search.limit) found.shift();
    }
    if (found.length >= search.limit || from === earliest) return found;
  }
}

async function* entriesFrom(
  resources: Resources,
  range: Pick<StreamRange, 'from' | 'until'>,
  { pattern, filter, correlationId }: Search,
  logger: BusLogger,
): AsyncGenerator<HistoryEntry> {
  for await (const stored of readStream(resources, { stream: resources.journal, filter, ...range })) {
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
  /** The last sequence to look at, as the leader of the stream told it. */
  until: number;
}

/** What a stream holds, with all that this bus has stored. */
export async function stateOf({ keeper }: Resources, stream: string): Promise<StreamState> {
  const until = performance.now() + stateTimeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await keeper.state(stream, { isSettled: attempt > settledAfter });
    } catch (error) {
      if (!mayHelp(error) || performance.now() > until) throw unread(error);
      await pause(attempt);
    }
  }
}

/**
 * Goes over the stored messages of a stream in order. A reader of ours lives on one server: when that one dies, or its copy
 * of the stream is behind, another reader goes on behind the last message.
 */
export async function* readStream(resources: Resources, range: StreamRange): AsyncGenerator<JsMsg> {
  const { until } = range;
  let { from } = range;
  for (let attempt = 1; from <= until; attempt += 1) {
    try {
      for await (const message of readOnce(resources, { ...range, from })) {
        if (message.seq > until) return;
        yield message;
        from = message.seq + 1;
        if (from > until) return;
      }
      if (!(await isLeft(resources, { ...range, from }))) return;
      throw new StaleCopyError(until);
    } catch (error) {
      if (!mayHelp(error) || attempt === mostReaders) throw unread(error);
      await pause(attempt);
    }
  }
}

async function pause(attempt: number): Promise<void> {
  await delay(Math.min(attempt * readAgainMs, longestPauseMs));
}

/** Whether the leader of the stream has something in the range. */
async function isLeft({ manager, keeper }: Resources, range: StreamRange): Promise<boolean> {
  const { stream, filter = '>', from, until } = range;
  const query = { seq: from, next_by_subj: filter };
  const next = await manager.streams.getMessage(stream, query);
  if (next !== null) return next.seq <= until;
  // Nothing, says one that may itself be behind.
  const { last_seq } = await keeper.state(stream);
  if (last_seq < until) throw new StaleCopyError(until);
  return false;
}

/** Reads what the copy of one server holds. Throws a TimeoutError when that server does not answer, or leaves something out. */
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
    let delivered = 0;
    while (delivered < num_pending) {
      const batch = await consumer.fetch({
        max_messages: Math.min(num_pending - delivered, fetchSize),
        expires: fetchTimeoutMs,
      });
      const before = delivered;
      for await (const message of batch) {
        delivered += 1;
        // What went to a lost connection is missing; a server that restarted may begin earlier again.
        if (message.info.deliverySequence !== delivered) throw new TimeoutError();
        yield message;
      }
      if (delivered === before) throw new TimeoutError();
    }
  } finally {
    // Where nobody answers, the server removes it when it is idle.
    manager.consumers.delete(range.stream, name).catch(() => undefined);
  }
}

function mayHelp(error: unknown): boolean {
  const isGone = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
  // The client's words for a server that is busy or gone.
  const isSilent = error instanceof Error && error.message === 'heartbeats missed';
  return isGone || isSilent || isTemporary(error);
}

function unread(error: unknown): BusError {
  if (error instanceof BusError) return error;
  const words = `The journal on NATS cannot be read: ${errorMessage(error)}. Try again.`;
  return new BusError('unavailable', words, { cause: error });
}
