import { createLogger } from '@trunkline/config';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { openTurnState } from './turn-state.ts';

afterEach(() => void vi.useRealTimers());

it('forgets conversations that rested too long while the service runs', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-01-01'), toFake: ['Date', 'setInterval', 'clearInterval'] });
  const home = temporaryDirectory();
  const state = await openTurnState({
    ...{ directory: home.path, memoryDirectory: home.path, writeMemory: false, keepDays: 30 },
    resumeInterrupted: false,
    logger: createLogger({ name: 'test', destination: { write: () => undefined } }),
  });
  onTestFinished(async () => {
    await state.close();
    home.remove();
  });
  state.sessions.claim('old', 'person:voice:ava');
  await vi.advanceTimersByTimeAsync(20 * 86_400_000);
  state.sessions.claim('newer', 'person:voice:ava');
  expect(state.sessions.owner('old')).toBe('person:voice:ava');
  await vi.advanceTimersByTimeAsync(11 * 86_400_000);
  expect([state.sessions.owner('old'), state.sessions.owner('newer')]).toEqual([
    undefined,
    'person:voice:ava',
  ]);
});
