import { loadWires, type Wire } from '@trunkline/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectTurn, type PlayedTurn, playWire } from './wires.suite.ts';

const wires = loadWires();

describe('a turn over the wire of a gateway', () => {
  it.each(wires)('$name: $behaviour', async (wire) => {
    expectTurn(wire, await playWire(wire));
  });

  it('is captured from many gateways, each with its source', () => {
    expect(wires.length).toBeGreaterThanOrEqual(60);
    expect(new Set(wires.map(({ gateway }) => gateway)).size).toBeGreaterThanOrEqual(8);
    for (const { source, version } of wires)
      expect([source, version]).toEqual([expect.stringMatching(/^https:/), expect.stringMatching(/./)]);
  });
});

const atOnce = 12;
/** Those with line ends, marks, comments and documents of their own kind. */
const oddlyFramed = new Set([
  'gemini/overflow-array',
  'koboldcpp/crlf',
  'llamacpp/exceed-context-in-stream',
  'ollama/think-tags',
  'openrouter/plain',
  'proxy/byte-order-mark',
  'tgi/error-without-space',
  'tgi/whole-json',
  'vllm/harmony-functions-in-text',
  'vllm/hermes-tags-in-text',
]);

/** What a person and the model get from a turn. */
function gist({ history }: Wire, { last, reasoning, calls, requests, lastRequest }: PlayedTurn) {
  const end = last.type === 'end' ? last.finishReason : [last.code, last.message];
  // Marks differ from turn to turn, and an estimate counts them; how much is kept of a long conversation depends on what was learned of the model.
  const usage = last.usage.estimated ? 'estimated' : last.usage;
  const sent = history ? '' : lastRequest.replace(/"(id|tool_call_id)":"[^"]*"/g, '"$1":""');
  return { text: last.text, end, reasoning, calls, requests, usage, sent };
}

const whole = new Map<string, Promise<PlayedTurn>>();

async function expectSameTurn(wire: Wire, split: (bytes: Buffer) => Buffer[]): Promise<void> {
  const uncut = whole.get(wire.name) ?? playWire(wire);
  whole.set(wire.name, uncut);
  const turn = await playWire(wire, { split });
  expect(gist(wire, turn), wire.name).toEqual(gist(wire, await uncut));
}

describe('however the bytes of a capture are cut, it is the same turn', () => {
  it('byte by byte', async () => {
    const single = (bytes: Buffer) => Array.from(bytes, (byte) => Buffer.of(byte));
    await Promise.all(
      wires.filter(({ name }) => oddlyFramed.has(name)).map((wire) => expectSameTurn(wire, single)),
    );
  });

  it.each([...new Set(wires.map(({ gateway }) => gateway))])('in small pieces: %s', async (gateway) => {
    const size = 13;
    const small = (bytes: Buffer) =>
      Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
    const some = wires.filter((wire) => wire.gateway === gateway);
    await Promise.all(some.map((wire) => expectSameTurn(wire, small)));
  });

  it('at any places', async () => {
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 12 });
    const chosen = fc.array(fc.constantFrom(...wires), { minLength: atOnce, maxLength: atOnce });
    await fc.assert(
      fc.asyncProperty(chosen, places, async (some, cuts) => {
        await Promise.all(some.map((wire) => expectSameTurn(wire, (bytes) => cutAt(bytes, cuts))));
      }),
      { numRuns: 6 },
    );
  });
});

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const borders = [...new Set(places.map((place) => Math.floor(place * bytes.length)))].sort((a, b) => a - b);
  return [0, ...borders].map((border, index) => bytes.subarray(border, borders[index] ?? bytes.length));
}
