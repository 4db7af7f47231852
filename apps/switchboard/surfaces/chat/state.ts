import { createHash } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';

/** A slash command that waits for its answer. */
export interface OpenInteraction {
  applicationId: string;
  token: string;
  channelId: string | undefined;
}

/** A message that shows what an agent does. */
export interface NotePlace {
  channelId: string;
  messageId: string;
}

const dayMs = 24 * 60 * 60_000;
const positionMs = 365 * dayMs;
/** Longer than the platform takes answers to a command: afterwards its channel gets them. */
const interactionMs = dayMs;
const noteMs = dayMs;
/** In the place of a note that an answer took. */
const taken = '';

/** What outlives a restart, and is known to every switchboard on the bus: whichever listens next, and whichever answers. */
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

  /** How far a channel was read. */
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

/** A correlation id may be any text. */
function keyOf(correlationId: string): string {
  return createHash('sha256').update(correlationId).digest('hex');
}
