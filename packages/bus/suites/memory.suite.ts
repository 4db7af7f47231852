import type { Bus } from '@trunkline/bus';
import { waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { World, WorldFactory } from './world.suite.ts';

const day = { ttlMs: 86_400_000 };

/** What a bus remembers for a while. */
export function describeMemory(createWorld: WorldFactory): void {
  describe('a memory', () => {
    let world: World;
    let bus: Bus;
    beforeEach(async () => {
      world = await createWorld();
      bus = await world.open();
    });
    afterEach(() => world.close());

    it('keeps what came first under a key, also after a restart', async () => {
      const memory = await bus.memory('hooks', day);
      expect(await memory.recall('one')).toBeUndefined();
      expect(await memory.keep('one', 'first')).toBe('first');
      expect(await memory.keep('one', 'second')).toBe('first');
      expect(await memory.keep('two', 'other')).toBe('other');
      await bus.stop();
      bus = await world.open();
      const again = await bus.memory('hooks', day);
      expect([await again.recall('one'), await again.recall('two')]).toEqual(['first', 'other']);
    });

    it('takes a new value in place of an old one, also after a restart', async () => {
      const memory = await bus.memory('positions', day);
      await memory.replace('one', 'first');
      await memory.replace('one', 'second');
      expect(await memory.keep('one', 'third')).toBe('second');
      await bus.stop();
      bus = await world.open();
      expect(await (await bus.memory('positions', day)).recall('one')).toBe('second');
    });

    it('gives up a value, and takes long ones where it is asked to', async () => {
      const memory = await bus.memory('long', { ...day, longest: 300_000 });
      const long = 'ü'.repeat(300_000);
      expect(await memory.keep('one', long)).toBe(long);
      expect(await memory.keep('one', 'other')).toBe(long);
      await memory.forget('one');
      expect(await memory.recall('one')).toBeUndefined();
      expect(await memory.keep('one', 'other')).toBe('other');
      await expect(bus.memory('long', { ...day, longest: 300_001 })).rejects.toMatchObject({
        code: 'options_refused',
      });
    });

    it('gives all who keep at once the same value', async () => {
      const memory = await bus.memory('hooks', day);
      const values = await Promise.all(['a', 'b', 'c', 'd'].map((value) => memory.keep('race', value)));
      expect(new Set(values).size).toBe(1);
      expect(await memory.recall('race')).toBe(values[0]);
    });

    it('is apart from those of other names', async () => {
      const [hooks, other] = [await bus.memory('hooks', day), await bus.memory('other', day)];
      await hooks.keep('key', 'of hooks');
      expect(await other.recall('key')).toBeUndefined();
      expect(await other.keep('key', 'of other')).toBe('of other');
    });

    it('forgets after its time', async () => {
      const memory = await bus.memory('hooks', { ttlMs: 1000 });
      await memory.keep('key', 'old');
      await waitFor(async () => (await memory.recall('key')) === undefined);
      expect(await memory.keep('key', 'new')).toBe('new');
    });

    it('refuses names, keys, values and times that cannot be', async () => {
      await expect(bus.memory('a b', day)).rejects.toMatchObject({ code: 'name_refused' });
      await expect(bus.memory('hooks', { ttlMs: 10 })).rejects.toMatchObject({ code: 'options_refused' });
      const memory = await bus.memory('hooks', day);
      for (const key of ['', 'a.b', '>', 'x'.repeat(129)])
        await expect(memory.keep(key, 'v')).rejects.toMatchObject({ code: 'name_refused' });
      await expect(memory.keep('key', 'x'.repeat(1025))).rejects.toMatchObject({ code: 'message_too_large' });
      await expect(memory.replace('a.b', 'v')).rejects.toMatchObject({ code: 'name_refused' });
      await expect(memory.replace('key', 'x'.repeat(1025))).rejects.toMatchObject({
        code: 'message_too_large',
      });
    });
  });
}
