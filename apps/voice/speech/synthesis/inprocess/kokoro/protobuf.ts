/** Pieces of a message, put together once at the end: the weights are large. */
export type Pieces = readonly Uint8Array[];

/** One field as it stands in a message. */
export interface Field {
  number: number;
  /** The number, of fields that are one. */
  value: number;
  /** The content, of fields that have a length. */
  content: Uint8Array | undefined;
  /** The field as it was, key included. */
  whole: Uint8Array;
}

const varint = 0;
const fixed64 = 1;
const lengthed = 2;
const fixed32 = 5;

/** Reads the fields of a protobuf message. */
export function* fieldsOf(message: Uint8Array): Generator<Field, void> {
  for (let at = 0; at < message.length; ) {
    const start = at;
    const key = readVarint(message, at);
    const number = Math.floor(key.value / 8);
    const kind = key.value % 8;
    at = key.next;
    if (kind === varint || kind === lengthed) {
      const { value, next } = readVarint(message, at);
      at = kind === lengthed ? next + value : next;
      const content = kind === lengthed ? message.subarray(next, at) : undefined;
      yield { number, value, content, whole: message.subarray(start, at) };
    } else {
      at += sizeOf(kind);
      yield { number, value: 0, content: undefined, whole: message.subarray(start, at) };
    }
  }
}

/** A field that holds a message or bytes. */
export function writeContent(number: number, content: Pieces): Pieces {
  const length = content.reduce((sum, piece) => sum + piece.length, 0);
  return [Uint8Array.from([...varintOf(number * 8 + lengthed), ...varintOf(length)]), ...content];
}

export function writeNumber(number: number, value: number): Pieces {
  return [Uint8Array.from([...varintOf(number * 8 + varint), ...varintOf(value)])];
}

function sizeOf(kind: number): number {
  if (kind === fixed64) return 8;
  if (kind === fixed32) return 4;
  throw new Error(`a field of the kind ${kind} is not known`);
}

/** Numbers beyond 53 bits (negative ones) lose digits, but are only ever copied. */
function readVarint(bytes: Uint8Array, start: number): { value: number; next: number } {
  let value = 0;
  let factor = 1;
  for (let at = start; ; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) throw new Error('the message ends in the middle of a number');
    value += (byte & 0x7f) * factor;
    factor *= 128;
    if (byte < 0x80) return { value, next: at + 1 };
  }
}

function varintOf(value: number): number[] {
  const low = value % 128;
  return value < 128 ? [value] : [low + 128, ...varintOf(Math.floor(value / 128))];
}
