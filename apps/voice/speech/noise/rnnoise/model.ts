/** Samples that are filtered at once, 10 ms at 48 kHz. */
export const frameLength = 480;
/** The model counts in 16-bit steps. */
const scale = 2 ** 15;
const floatBytes = 4;

/** The exports of the module, which its build names by single letters. */
interface Exports {
  memory: WebAssembly.Memory;
  prepare(): void;
  create(model: number): number;
  allocate(bytes: number): number;
  destroy(state: number): void;
  process(state: number, output: number, input: number): number;
}

/** Filters the frames of many callers, each with its own state. */
export interface RnNoise {
  open(): number;
  filter(voice: number, samples: Float32Array): Float32Array;
  close(voice: number): void;
}

export async function loadRnNoise(bytes: Uint8Array<ArrayBuffer>): Promise<RnNoise> {
  const { memory, prepare, create, allocate, destroy, process } = await instantiate(bytes);
  prepare();
  const frame = allocate(frameLength * floatBytes);
  return {
    open: () => create(0),
    filter(voice, samples) {
      view(memory, frame).set(samples.map((sample) => sample * scale));
      process(voice, frame, frame);
      return view(memory, frame).map((sample) => sample / scale);
    },
    close: destroy,
  };
}

async function instantiate(bytes: Uint8Array<ArrayBuffer>): Promise<Exports> {
  const place: { memory: WebAssembly.Memory | undefined } = { memory: undefined };
  const imports = {
    a: (size: number) => grow(place.memory, size),
    b: (to: number, from: number, count: number) =>
      new Uint8Array(place.memory?.buffer ?? new ArrayBuffer()).copyWithin(to, from, from + count),
  };
  const { instance } = await WebAssembly.instantiate(bytes, { a: imports });
  const { c, d, f, g, h, j } = instance.exports;
  if (!(c instanceof WebAssembly.Memory)) throw new Error('the noise filter has no memory');
  place.memory = c;
  const [prepare, create, allocate, destroy, process] = [d, f, g, h, j] as [
    Exports['prepare'],
    Exports['create'],
    Exports['allocate'],
    Exports['destroy'],
    Exports['process'],
  ];
  return { memory: c, prepare, create, allocate, destroy, process };
}

const pageBytes = 65_536;

/** Returns 1 on success, as the module expects. */
function grow(memory: WebAssembly.Memory | undefined, size: number): number {
  if (memory === undefined) return 0;
  memory.grow(Math.ceil((size - memory.buffer.byteLength) / pageBytes));
  return 1;
}

function view(memory: WebAssembly.Memory, at: number): Float32Array {
  return new Float32Array(memory.buffer, at, frameLength);
}
