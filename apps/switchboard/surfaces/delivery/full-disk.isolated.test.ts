import { join } from 'node:path';
import { createEmbeddedBus } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { mountSmallDisk, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { DeliveryStore } from './delivery-store.ts';
import { Outbox } from './outbox.ts';

const [journal, records] = [temporaryDirectory(), temporaryDirectory()];
const disk = mountSmallDisk(records.path, 8);
afterAll(() => {
  disk.unmount();
  records.remove();
  journal.remove();
});

describe.skipIf(disk.leftOut !== undefined)('a disk that fills while something is sent', () => {
  it('makes nobody get it twice, and it is recorded when there is room', async () => {
    const log: string[] = [];
    const logger = createLogger({
      name: 'test',
      level: 'ERROR',
      destination: { write: (line) => log.push(line) },
    });
    const bus = await createEmbeddedBus({ directory: journal.path, logger });
    const store = new DeliveryStore(join(records.path, 'deliveries.db'));
    const outbox = new Outbox({ bus, store, logger, retryMs: 10 });
    let sent = 0;
    await outbox.open({
      surface: 'mail',
      patterns: ['message.outbound.mail'],
      send: async ({ arrived }) => {
        sent += 1;
        disk.fill();
        arrived(`letter ${sent}`);
      },
    });
    const { id } = await bus.publish({ topic: 'message.outbound.mail', payload: { content: 'Dear Ada' } });
    await waitFor(() => log.filter((line) => line.includes('disk')).length >= 3);
    expect(sent).toBe(1);
    disk.free();
    await waitFor(() => store.get(id)?.state === 'sent');
    expect(store.get(id)).toMatchObject({ references: ['letter 1'], attempts: 0 });
    expect(sent).toBe(1);
    await outbox.stop();
    await bus.stop();
    store.close();
  });
});
