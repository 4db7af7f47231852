import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import { type MsgHdrs, nanos } from '@nats-io/transport-node';
import { errorMessage } from '@trunkline/std';
import { BusError } from '../errors.ts';
import { decodeMessage } from '../message.ts';
import type { Settings } from '../options.ts';
import type { BusLogger, Message } from '../port.ts';
import { percentEncoded } from '../topics/topic.ts';
import type { DurableTopics } from '../topics/topic-index.ts';
import { type Connection, missingPermission } from './connection.ts';
import { found } from './jetstream-errors.ts';
import type { NatsSettings } from './options.ts';
import { onlyForHeader } from './outbox.ts';
import { type Loss, type NamedConfig, StreamKeeper } from './stream-keeper.ts';
import type { StreamRecords } from './stream-records.ts';

/** Ends every subject: `>` of NATS needs one more token where `#` takes none. */
const terminator = '~';

/** What NATS reads as a wildcard, what this encoding uses itself, and everything outside plain ASCII. */
const unsafe = /[^\x21-\x7e]|[*>%]/gu;

/** The streams and the bucket that buses with one prefix share on the server. */
export interface Resources {
  client: JetStreamClient;
  manager: JetStreamManager;
  /** Name of the stream with the journalled messages. */
  journal: string;
  /** Name of the stream with the dead letters. */
  deadLetters: string;
  /** Subject of a durable name's dead letters. */
  deadSubject(name: string): string;
  /** Counts of attempts, how far names without subscribers had come, and which losses are reported. */
  progress: KV;
  keeper: StreamKeeper;
}

const requestTimeoutMs = 5000;
/** For this long the server knows a message id again. */
const duplicateWindowMs = 600_000;
const keptDeadLetters = 10_000;
/** Longer than any message is tried. */
const progressTtlMs = 7 * 86_400_000;

interface ResourceSetup {
  durableTopics: DurableTopics;
  settings: Settings;
  natsSettings: NatsSettings;
  logger: BusLogger;
  records: StreamRecords;
  onLoss(loss: Loss): void;
}

/** Finds or makes the streams, and brings them to the settings of this bus. */
export async function openResources(connection: Connection, setup: ResourceSetup): Promise<Resources> {
  const { settings, natsSettings, logger, records } = setup;
  const { prefix, replicas } = natsSettings;
  const journal = `${prefix}-journal`;
  const deadLetters = `${prefix}-dead`;
  const counts = `${prefix}-progress`;
  try {
    const client = jetstream(connection.nats, { timeout: requestTimeoutMs });
    const manager = await jetstreamManager(connection.nats, { timeout: requestTimeoutMs });
    const keeper = new StreamKeeper({ client, manager, replicas, records, logger }, setup.onLoss);
    await keeper.stream(journalConfig(journal, prefix, setup.durableTopics, settings), {
      words: 'Messages that were accepted before and not yet handled are lost, and so is the history.',
      // Positions begin anew, and counts of the old ones must not be held against new messages.
      clean: () => found(manager.streams.purge(`KV_${counts}`)),
    });
    await keeper.stream(
      {
        name: deadLetters,
        subjects: [`${deadLetters}.*`],
        max_msgs: keptDeadLetters,
        max_bytes: settings.retainBytes,
      },
      { words: 'The dead letters are lost.' },
    );
    const progress = await keeper.bucket(counts, progressTtlMs, {
      words: 'Attempts are counted from the start.',
    });
    return {
      client,
      manager,
      journal,
      deadLetters,
      deadSubject: (name) => `${deadLetters}.${name}`,
      progress,
      keeper,
    };
  } catch (error) {
    const words =
      missingPermission(error) ??
      `The streams of the bus cannot be prepared on NATS: ${errorMessage(error)}. The server needs JetStream (nats-server -js; a leaf node does not pass it on) and room for ${settings.retainBytes} bytes.`;
    throw new BusError('engine_failed', words, { cause: error });
  }
}

function journalConfig(
  name: string,
  prefix: string,
  durableTopics: DurableTopics,
  settings: Settings,
): NamedConfig & { subjects: string[] } {
  return {
    name,
    subjects: subjectsOf(name, prefix, durableTopics.patterns),
    max_bytes: settings.retainBytes,
    // What is full refuses: the server must not drop what a durable name has still to handle.
    discard: DiscardPolicy.New,
    duplicate_window: nanos(duplicateWindowMs),
  };
}

/** A stream that is given no subject takes its own name for one. */
function subjectsOf(name: string, prefix: string, patterns: readonly string[]): string[] {
  return patterns.length === 0 ? [name] : patterns.map((pattern) => filterOf(prefix, pattern));
}

/** The subject of a topic. */
export function subjectOf(prefix: string, topic: string): string {
  return `${prefix}.${encoded(topic)}.${terminator}`;
}

/** The subject filter that takes exactly the topics of a pattern. */
export function filterOf(prefix: string, pattern: string): string {
  if (pattern === '#') return `${prefix}.>`;
  const tokens = pattern.split('.').map((segment) => (segment === '*' ? segment : encoded(segment)));
  if (tokens.at(-1) !== '#') return [prefix, ...tokens, terminator].join('.');
  return [prefix, ...tokens.slice(0, -1), '>'].join('.');
}

function encoded(text: string): string {
  return text.replace(unsafe, percentEncoded);
}

interface Received {
  subject: string;
  headers?: MsgHdrs | undefined;
  string(): string;
}

/** Reads a message from the wire; undefined, with a word in the log, for what no bus has written. */
export function readMessage(received: Received, logger: BusLogger): Message | undefined {
  try {
    const message = decodeMessage(received.string());
    const { id, topic, correlationId } = message;
    if ([id, topic, correlationId].every((field) => typeof field === 'string')) return message;
  } catch (error) {
    logger.warn({ subject: received.subject, err: error }, 'failed to read message from NATS');
    return undefined;
  }
  logger.warn({ subject: received.subject }, 'message from NATS lacks id, topic or correlation');
  return undefined;
}

/** The only durable name that a message is for, or undefined when it is for all. */
export function onlyFor({ headers }: Pick<Received, 'headers'>): string | undefined {
  return headers?.get(onlyForHeader) || undefined;
}
