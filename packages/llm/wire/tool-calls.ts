import type { JSONValue, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { isFields } from './error-body.ts';
import { providerName } from './messages.ts';

interface OpenCall {
  /** As the endpoint gave it; empty when it gave none. */
  wireId: string;
  id: string;
  index: number | undefined;
  name: string;
  input: string;
  /** How much of the input was passed on. */
  told: number;
  started: boolean;
  signature: string | undefined;
}

type Push = (part: LanguageModelV4StreamPart) => void;

/**
 * Puts together tool calls that come in pieces. Endpoints disagree about which piece belongs to which call: some give no
 * index, some no id, some index 0 for every call, some repeat name or id in each piece, some send the arguments as an object.
 */
export class ToolCallReader {
  readonly #calls: OpenCall[] = [];
  readonly #push: Push;

  constructor(push: Push) {
    this.#push = push;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  read(delta: unknown): void {
    if (!isFields(delta)) return;
    const called = isFields(delta.function) ? delta.function : delta;
    const piece = {
      id: text(delta.id),
      index: typeof delta.index === 'number' ? delta.index : undefined,
      name: text(called.name).trim(),
      input: inputText(called.arguments),
    };
    const call = this.#callOf(piece);
    call.wireId ||= piece.id;
    call.name ||= piece.name;
    call.signature ??= signatureOf(delta);
    // A whole object that comes again is not a further piece.
    if (typeof called.arguments === 'string' || call.input === '') call.input += piece.input;
    this.#tell(call);
  }

  /**
   * Ends all calls; the first carries the details of the thoughts that led to them. A call that never got a name goes on
   * as data: the model is told that there is no such tool.
   */
  end(details: Record<string, JSONValue>): void {
    for (const [position, call] of this.#calls.entries()) {
      call.name ||= 'unnamed';
      this.#tell(call);
      const marks = {
        ...(call.signature !== undefined && { thoughtSignature: call.signature }),
        ...(position === 0 && details),
      };
      const metadata = Object.keys(marks).length === 0 ? {} : { providerMetadata: { [providerName]: marks } };
      this.#push({ type: 'tool-input-end', id: call.id, ...metadata });
      const input = call.input.trim() === '' ? '{}' : call.input;
      this.#push({ type: 'tool-call', toolCallId: call.id, toolName: call.name, input, ...metadata });
    }
  }

  #callOf(piece: Piece): OpenCall {
    const candidate = this.#candidate(piece);
    if (candidate !== undefined && !startsAnother(candidate, piece)) return candidate;
    const isTaken = this.#calls.some(({ id }) => id === piece.id);
    const call: OpenCall = {
      wireId: piece.id,
      id: piece.id === '' || isTaken ? `call_${crypto.randomUUID()}` : piece.id,
      index: piece.index,
      name: '',
      input: '',
      told: 0,
      started: false,
      signature: undefined,
    };
    this.#calls.push(call);
    return call;
  }

  #candidate({ id, index, name }: Piece): OpenCall | undefined {
    if (index !== undefined) return this.#calls.findLast((call) => call.index === index);
    const byId = id === '' ? undefined : this.#calls.findLast((call) => call.wireId === id);
    return byId ?? (id !== '' && name !== '' ? undefined : this.#calls.at(-1));
  }

  #tell(call: OpenCall): void {
    if (call.name === '') return;
    if (!call.started) this.#push({ type: 'tool-input-start', id: call.id, toolName: call.name });
    call.started = true;
    if (call.told === call.input.length) return;
    this.#push({ type: 'tool-input-delta', id: call.id, delta: call.input.slice(call.told) });
    call.told = call.input.length;
  }
}

interface Piece {
  id: string;
  index: number | undefined;
  name: string;
  input: string;
}

/** Whether a piece that could belong to a call begins the next one. */
function startsAnother(call: OpenCall, { id, name, input }: Piece): boolean {
  if (name === '' || call.name === '') return false;
  const hasOtherId = id !== '' && call.wireId !== '' && id !== call.wireId;
  if (name !== call.name) return hasOtherId || id === '';
  // Under the same name: repeated with each piece, or called again. Arguments tell, once they are whole.
  if (hasOtherId) return isWhole(call.input) || (call.input === '' && (input === '' || isWhole(input)));
  return id === '' && isWhole(call.input) && isWhole(input);
}

function isWhole(input: string): boolean {
  if (!/^\s*\{[\s\S]*\}\s*$/.test(input)) return false;
  try {
    JSON.parse(input);
    return true;
  } catch {
    return false;
  }
}

function inputText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Gemini wants its signature back with the call. */
function signatureOf({ extra_content: extra }: Record<string, unknown>): string | undefined {
  const google = isFields(extra) && isFields(extra.google) ? extra.google : {};
  return typeof google.thought_signature === 'string' ? google.thought_signature : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
