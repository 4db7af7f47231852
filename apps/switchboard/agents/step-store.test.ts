import { type Bus, createEmbeddedBus } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { type Step, StepConflictError } from '@trunkline/loop';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createStepStore, type StepStore, stepsUnlessElsewhere } from './step-store.ts';

const step = (call: string): Step => ({ kind: 'tool-end', at: 1, call, name: 'send', result: 'sent' });
const warned: string[] = [];
const logger = createLogger({
  name: 'test',
  level: 'WARNING',
  destination: { write: (line) => void warned.push(line) },
});

let [directory, bus, one, other] = [] as unknown as [TemporaryDirectory, Bus, StepStore, StepStore];
let time = 0;

beforeEach(async () => {
  warned.length = 0;
  directory = temporaryDirectory();
  bus = await createEmbeddedBus({ directory: directory.path });
  [one, other] = [createStepStore(bus, logger, () => time), createStepStore(bus, logger)];
});
afterEach(async () => {
  one.close();
  other.close();
  await bus.stop();
  directory.remove();
});

it('lets the first who stores steps at a place go on, and nobody else', async () => {
  await one.append('turn', 0, [step('a'), step('b')]);
  await one.append('turn', 2, [step('c')]);
  await expect(other.append('turn', 0, [step('x')])).rejects.toThrow(StepConflictError);
  await expect(other.append('turn', 2, [step('x')])).rejects.toThrow(StepConflictError);
  expect(await other.read('turn')).toEqual(['a', 'b', 'c'].map(step));
  expect(await other.read('another turn')).toEqual([]);
});

it('refuses a process that wakes after the turn has ended elsewhere, however long it slept', async () => {
  await one.append('turn', 0, [step('a')]);
  await one.append('turn', 1, [step('b')]);
  one.forgetLater('turn');
  await one.forgetEnded();
  expect(await other.read('turn')).toHaveLength(2);
  time += 3_600_000;
  // One that is still at it does not disturb another.
  await Promise.all([one.forgetEnded(), one.forgetEnded()]);
  await expect(other.append('turn', 1, [step('late')])).rejects.toThrow(StepConflictError);
  await expect(other.read('turn')).rejects.toThrow(StepConflictError);
});

it('gives nobody the steps of a turn whose switchboard is at work', async () => {
  await one.append('turn', 0, [step('a')]);
  let isElsewhere = true;
  const guarded = stepsUnlessElsewhere(other, async () => isElsewhere);
  await expect(guarded.read('turn')).rejects.toThrow(StepConflictError);
  expect(await guarded.read('another turn')).toEqual([]);
  isElsewhere = false;
  expect(await guarded.read('turn')).toEqual([step('a')]);
});

it('warns once of a store that fails', () => {
  one.warn(new Error('no room'));
  one.warn(new Error('no room'));
  expect(warned).toHaveLength(1);
});
