import { expect, it } from 'vitest';
import { Reloader } from './reload.ts';

it('reads once for all who ask while it reads, and again for those after', async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  const renewal = new Reloader(() => {
    gates.push(Promise.withResolvers<void>());
    return gates.at(-1)?.promise ?? Promise.resolve();
  });
  const first = renewal.run();
  const waiting = Array.from({ length: 100 }, () => renewal.run());
  expect(gates).toHaveLength(1);
  gates[0]?.reject(new Error('unreadable'));
  await expect(first).rejects.toThrow('unreadable');
  gates[1]?.resolve();
  await Promise.all(waiting);
  expect(gates).toHaveLength(2);
  const later = renewal.run();
  gates[2]?.resolve();
  await later;
});
