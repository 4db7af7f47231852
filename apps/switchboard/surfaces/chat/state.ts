import { createHash } from 'node:crypto';
import type { Bus, Memory, Message, Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { BoundedMap } from '@trunkline/std';
import { plainPost } from '@trunkline/tools';
import type { REST } from 'discord.js';
import { fieldsOf, text } from '../../dispatch/request.ts';

const editEveryMs = 1500;

const mostNotes = 1000;

export interface OpenInteraction {
  applicationId: string;
  token: string;
  channelId: string | undefined;
}

export interface NotePlace {
  channelId: string;
  messageId: string;
}

const dayMs = 24 * 60 * 60_000;
const positionMs = 365 * dayMs;
/** Longer than the platform accepts answers: afterwards the channel gets them. */
const interactionMs = dayMs;
const noteMs = dayMs;
/** Marks a note that the answer has replaced. */
const taken = '';

/** State shared by all switchboards on the bus: whichever listens next, and whichever answers. */
export class ChatState {
  readonly #positions: Memory;
  readonly #interactions: Memory;
  readonly #notes: Memory;

  private constructor(positions: Memory, interactions: Memory, notes: Memory) {
    this.#positions = positions;
    this.#interactions = interactions;
    this.#notes = notes;
  }

  static async open(bus: Bus): Promise<ChatState> {
    return new ChatState(
      await bus.memory('chat-positions', { ttlMs: positionMs }),
      await bus.memory('chat-interactions', { ttlMs: interactionMs }),
      await bus.memory('chat-notes', { ttlMs: noteMs }),
    );
  }

  lastRead(channelId: string): Promise<string | undefined> {
    return this.#positions.recall(channelId);
  }

  async read(channelId: string, messageId: string): Promise<void> {
    const known = await this.lastRead(channelId);
    if (known === undefined || BigInt(known) < BigInt(messageId))
      await this.#positions.replace(channelId, messageId);
  }

  async interaction(id: string): Promise<OpenInteraction | undefined> {
    const kept = await this.#interactions.recall(id);
    return kept === undefined ? undefined : (JSON.parse(kept) as OpenInteraction);
  }

  async openInteraction(id: string, interaction: OpenInteraction): Promise<void> {
    await this.#interactions.keep(id, JSON.stringify(interaction));
  }

  async note(correlationId: string): Promise<NotePlace | undefined> {
    const kept = await this.#notes.recall(keyOf(correlationId));
    return kept === undefined || kept === taken ? undefined : (JSON.parse(kept) as NotePlace);
  }

  async keepNote(correlationId: string, place: NotePlace): Promise<void> {
    await this.#notes.keep(keyOf(correlationId), JSON.stringify(place));
  }

  async takeNote(correlationId: string): Promise<void> {
    await this.#notes.replace(keyOf(correlationId), taken);
  }
}

function keyOf(correlationId: string): string {
  return createHash('sha256').update(correlationId).digest('hex');
}

interface ProgressSettings {
  bus: Bus;
  state: ChatState;
  /** The client of an agent's own bot, or of the main one. */
  restOf(agent: string | undefined): REST;
  logger: Logger;
}

interface Note {
  channelId: string;
  /** Only the bot that wrote the note may edit it. */
  agent: string | undefined;
  messageId?: string;
  editedAt: number;
  /** One request at a time. */
  turn: Promise<void>;
}

/** Shows an agent's progress as one edited message, which the answer replaces. */
export function createProgressNotes({ restOf, logger, state, bus }: ProgressSettings) {
  const notes = new BoundedMap<string, Note>(mostNotes);
  let subscription: Subscription | undefined;

  async function start(): Promise<void> {
    subscription = await bus.subscribe('agent.skill.toolframe.#', show, {
      plugin: 'chat',
    });
  }

  async function stop(): Promise<void> {
    await subscription?.unsubscribe();
    await Promise.all([...notes.values()].map(({ turn }) => turn));
  }

  /** Shows the progress of this correlation in the channel. */
  function watch(correlationId: string, channelId: string, agent: string | undefined): void {
    notes.set(correlationId, { channelId, agent, editedAt: 0, turn: Promise.resolve() });
  }

  /**
   * The note that the answer replaces; waits for a write under way. Another switchboard may have written it, or this
   * one before a restart.
   */
  async function find(correlationId: string, channelId: string): Promise<string | undefined> {
    const note = notes.get(correlationId);
    if (note !== undefined) note.editedAt = Number.POSITIVE_INFINITY;
    await note?.turn;
    const place = await state.note(correlationId);
    return place?.channelId === channelId ? place.messageId : undefined;
  }

  async function end(correlationId: string): Promise<void> {
    notes.delete(correlationId);
    await state.takeNote(correlationId);
  }

  function show({ correlationId, payload }: Message): void {
    const note = notes.get(correlationId);
    const name = text(fieldsOf(payload).name);
    if (note === undefined || name === undefined || fieldsOf(payload).type !== 'tool-start') return;
    if (Date.now() - note.editedAt < editEveryMs) return;
    note.editedAt = Date.now();
    note.turn = note.turn.then(() => write(note, correlationId, `*Working: ${name} …*`));
  }

  async function write(note: Note, correlationId: string, content: string): Promise<void> {
    if (notes.get(correlationId) !== note) return;
    const { channelId, messageId, agent } = note;
    const rest = restOf(agent);
    try {
      const body = { content, ...plainPost };
      if (messageId !== undefined)
        return void (await rest.patch(`/channels/${channelId}/messages/${messageId}`, { body }));
      const { id } = (await rest.post(`/channels/${channelId}/messages`, { body })) as { id: string };
      note.messageId = id;
      await state.keepNote(correlationId, { channelId, messageId: id });
    } catch (error) {
      logger.warn({ err: error }, 'failed to show progress');
    }
  }

  return { start, stop, watch, find, end };
}

export type ProgressNotes = ReturnType<typeof createProgressNotes>;
