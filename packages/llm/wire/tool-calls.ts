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
  /** The end of the input, not passed on yet. The input itself is not looked at while it grows: each look copies it. */
  rest: string;
  started: boolean;
  signature: string | undefined;
}

/** More calls than any model makes at a time. */
const mostCalls = 128;
const longestInput = 2 * 1024 * 1024;

export interface ToolCallHandler {
  push(part: LanguageModelV4StreamPart): void;
  /** The calls are more, or longer, than is read. */
  tooLong(detail: string): void;
}

/**
 * Puts together tool calls that come in pieces. Endpoints disagree about which piece belongs to which call: some give no
 * index, some no id, some index 0 for every call, some repeat name or id in each piece, some send the arguments as an object.
 */
export class ToolCallReader {
  readonly #calls: OpenCall[] = [];
  readonly #on: ToolCallHandler;
  /** Characters of all inputs together. */
  length = 0;

  constructor(on: ToolCallHandler) {
    this.#on = on;
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
    this.length += piece.input.length;
    if (call === undefined || this.length > longestInput) {
      const isLong = this.length > longestInput;
      this.#on.tooLong(
        isLong
          ? 'its tool calls have more than 2 MB of arguments'
          : `it makes more than ${mostCalls} tool calls`,
      );
      return;
    }
    call.wireId ||= piece.id;
    call.name ||= piece.name;
    call.signature ??= signatureOf(delta);
    // A whole object that comes again is not a further piece.
    if (typeof called.arguments === 'string' || call.input === '') {
      call.input += piece.input;
      call.rest += piece.input;
    }
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
      this.#on.push({ type: 'tool-input-end', id: call.id, ...metadata });
      const input = call.input.trim() === '' ? '{}' : call.input;
      this.#on.push({ type: 'tool-call', toolCallId: call.id, toolName: call.name, input, ...metadata });
    }
  }

  /** The call that a piece belongs to or starts; undefined for one call too many. */
  #callOf(piece: Piece): OpenCall | undefined {
    const candidate = this.#candidate(piece);
    if (candidate !== undefined && !startsAnother(candidate, piece)) return candidate;
    if (this.#calls.length >= mostCalls) return undefined;
    const isTaken = this.#calls.some(({ id }) => id === piece.id);
    const call: OpenCall = {
      wireId: piece.id,
      id: piece.id === '' || isTaken ? `call_${crypto.randomUUID()}` : piece.id,
      index: piece.index,
      name: '',
      input: '',
      rest: '',
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
    if (!call.started) this.#on.push({ type: 'tool-input-start', id: call.id, toolName: call.name });
    call.started = true;
    if (call.rest === '') return;
    this.#on.push({ type: 'tool-input-delta', id: call.id, delta: call.rest });
    call.rest = '';
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
  return id === '' && isWhole(input) && isWhole(call.input);
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
