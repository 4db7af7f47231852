import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type * as Onnx from 'onnxruntime-node';
import { SpeechError } from '../../../speech-error.ts';
import { type OnnxRuntime, provenPaths } from '../../../weights.ts';

/** Wire types of protobuf. */
const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 };
/** ONNX element types: float16 and float32. */
const [half, single] = [10, 1];

export const kokoroRate = 24_000;
/** The most symbols per run. */
const longest = 508;
const styleLength = 256;

export interface Kokoro {
  speak(phonemes: string, voice: string): Promise<Float32Array>;
}

export async function loadKokoro(onnx: OnnxRuntime): Promise<Kokoro> {
  const parts = await provenPaths('Kokoro 82M');
  const bytes = Buffer.concat(await Promise.all(parts.map((path) => readFile(path))));
  const session = await onnx.InferenceSession.create(widenModel(bytes), {
    intraOpNumThreads: Math.min(2, availableParallelism()),
    interOpNumThreads: 1,
    // As fast as with all optimizations, and uses less CPU.
    graphOptimizationLevel: 'extended',
    // Spinning threads would take cores from the calls.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
  const styles = createStyles(await provenPaths('Kokoro voices'));
  return {
    async speak(phonemes, voice) {
      const numbers = symbolNumbers(phonemes).slice(0, longest);
      return run(onnx, session, numbers, (await styles(voice)).subarray(numbers.length * styleLength));
    },
  };
}

async function run(
  onnx: OnnxRuntime,
  session: Onnx.InferenceSession,
  numbers: readonly number[],
  styles: Float32Array,
): Promise<Float32Array> {
  const padded = BigInt64Array.from([0, ...numbers, 0], (number) => BigInt(number));
  const { waveform } = await session.run({
    input_ids: new onnx.Tensor('int64', padded, [1, padded.length]),
    style: new onnx.Tensor('float32', styles.slice(0, styleLength), [1, styleLength]),
    speed: new onnx.Tensor('float32', Float32Array.of(1), [1]),
  });
  const samples = waveform?.data;
  if (!(samples instanceof Float32Array) || samples.some(Number.isNaN))
    throw new SpeechError('unreadable', 'the voice model gives no sound');
  return samples;
}

/** Style vectors of a voice, one for each number of symbols; half a megabyte a voice, cached. */
function createStyles(paths: readonly string[]): (voice: string) => Promise<Float32Array> {
  const known = new Map<string, Float32Array>();
  return async (voice) => {
    const path = paths.find((candidate) => candidate.endsWith(`/${voice}.bin`));
    if (path === undefined) throw new Error(`there is no voice ${voice}`);
    const styles = known.get(voice) ?? floatsOf(await readFile(path));
    known.set(voice, styles);
    return styles;
  };
}

function floatsOf(bytes: Buffer): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}

/** The model's symbols with their numbers; gaps are unused numbers. */
const groups: readonly (readonly [number, string])[] = [
  [1, ';:,.!?'],
  [9, '—…"()“” \u0303ʣʥʦʨᵝ\uAB67AI'],
  [31, 'O'],
  [33, 'Q'],
  [35, 'ST'],
  [39, 'W'],
  [41, 'Yᵊabcdef'],
  [50, 'hijklmnopqrstuvwxyzɑɐɒæ'],
  [75, 'βɔɕç'],
  [80, 'ɖðʤə'],
  [85, 'ɚɛɜ'],
  [90, 'ɟ'],
  [92, 'ɡ'],
  [99, 'ɥ'],
  [101, 'ɨɪʝ'],
  [110, 'ɯɰŋɳɲɴø'],
  [118, 'ɸθœ'],
  [123, 'ɹ'],
  [125, 'ɾɻ'],
  [128, 'ʁɽʂʃʈʧ'],
  [135, 'ʊʋ'],
  [138, 'ʌɣɤ'],
  [142, 'χʎ'],
  [147, 'ʒʔ'],
  [156, 'ˈˌː'],
  [162, 'ʰ'],
  [164, 'ʲ'],
  [169, '↓'],
  [171, '→↗↘'],
  [177, 'ᵻ'],
];

const numbers = new Map(
  groups.flatMap(([first, symbols]) => [...symbols].map((symbol, index) => [symbol, first + index] as const)),
);

/** Drops symbols that the model does not know. */
function symbolNumbers(phonemes: string): number[] {
  return [...phonemes].flatMap((symbol) => numbers.get(symbol) ?? []);
}

type Rewrite = (content: Uint8Array) => Pieces;

/**
 * Turns a model of half-precision numbers into one of single precision. Kokoro overflows in half precision for some
 * texts and gives no sound; processors compute in single precision anyway.
 */
function widenModel(model: Uint8Array): Uint8Array {
  return Buffer.concat(rewrite(model, { 7: widenGraph }));
}

function widenGraph(graph: Uint8Array): Pieces {
  return rewrite(graph, { 1: widenNode, 5: widenTensor, 11: widenValue, 12: widenValue, 13: () => [] });
}

function widenNode(node: Uint8Array): Pieces {
  return rewrite(node, { 5: widenAttribute });
}

/** The attributes `to` and `dtype` hold types, others tensors and subgraphs. */
function widenAttribute(attribute: Uint8Array): Pieces {
  const [name] = [...fieldsOf(attribute)].filter(({ number }) => number === 1);
  const isType = ['to', 'dtype'].includes(Buffer.from(name?.content ?? []).toString('utf8'));
  return rewrite(attribute, { 5: widenTensor, 6: widenGraph }, isType ? 3 : undefined);
}

function widenValue(value: Uint8Array): Pieces {
  return rewrite(value, { 2: (type) => rewrite(type, { 1: (tensor) => rewrite(tensor, {}, 1) }) });
}

function widenTensor(tensor: Uint8Array): Pieces {
  const fields = [...fieldsOf(tensor)];
  if (!fields.some(({ number, value }) => number === 2 && value === half)) return [tensor];
  return fields.flatMap((field) => {
    if (field.number === 2) return writeNumber(2, single);
    if (field.number === 9) return writeContent(9, [widenNumbers(field)]);
    if (field.number === 5) throw new Error('the model keeps its numbers in another way than expected');
    return [field.whole];
  });
}

function widenNumbers({ content = new Uint8Array() }: Field): Uint8Array {
  // Copied for alignment.
  const halves = new Float16Array(new Uint8Array(content).buffer);
  return new Uint8Array(new Float32Array(halves).buffer);
}

/** Rewrites fields by number; the field `typeField` changes from half to single. */
function rewrite(message: Uint8Array, rewrites: Record<number, Rewrite>, typeField?: number): Pieces {
  const pieces: Uint8Array[] = [];
  for (const { number, value, content, whole } of fieldsOf(message)) {
    const change = rewrites[number];
    if (change !== undefined && content !== undefined) pieces.push(...writtenBy(number, change(content)));
    else if (number === typeField && value === half) pieces.push(...writeNumber(number, single));
    else pieces.push(whole);
  }
  return pieces;
}

function writtenBy(number: number, content: Pieces): Pieces {
  return content.length === 0 ? [] : writeContent(number, content);
}

/** Pieces of a message, concatenated once at the end, as the weights are large. */
export type Pieces = readonly Uint8Array[];

interface Field {
  number: number;
  /** Of varint fields. */
  value: number;
  /** Of length-delimited fields. */
  content: Uint8Array | undefined;
  /** The encoded field, key included. */
  whole: Uint8Array;
}

/** Reads the fields of a protobuf message. */
function* fieldsOf(message: Uint8Array): Generator<Field, void> {
  for (let at = 0; at < message.length; ) {
    const start = at;
    const key = readVarint(message, at);
    const number = Math.floor(key.value / 8);
    const kind = key.value % 8;
    at = key.next;
    if (kind === wire.varint || kind === wire.bytes) {
      const { value, next } = readVarint(message, at);
      at = kind === wire.bytes ? next + value : next;
      const content = kind === wire.bytes ? message.subarray(next, at) : undefined;
      yield { number, value, content, whole: message.subarray(start, at) };
    } else {
      at += sizeOf(kind);
      yield { number, value: 0, content: undefined, whole: message.subarray(start, at) };
    }
  }
}

export function writeContent(number: number, content: Pieces): Pieces {
  const length = content.reduce((sum, piece) => sum + piece.length, 0);
  return [Uint8Array.from([...varintOf(number * 8 + wire.bytes), ...varintOf(length)]), ...content];
}

export function writeNumber(number: number, value: number): Pieces {
  return [Uint8Array.from([...varintOf(number * 8 + wire.varint), ...varintOf(value)])];
}

function sizeOf(kind: number): number {
  if (kind === wire.fixed64) return 8;
  if (kind === wire.fixed32) return 4;
  throw new Error(`a field of the kind ${kind} is not known`);
}

/** Values beyond 53 bits (negative ones) lose digits, but such fields are only copied. */
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
