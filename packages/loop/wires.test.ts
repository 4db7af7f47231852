import { loadWires } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { expectTurn, playWire } from './wires.suite.ts';

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
