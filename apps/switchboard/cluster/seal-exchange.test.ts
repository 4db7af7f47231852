import { join } from 'node:path';
import { type Bus, createEmbeddedBus } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { Seal } from '../control/seal.ts';
import { createSealExchange } from './seal-exchange.ts';

const logger = createLogger({ name: 'test', level: 'ERROR', destination: { write: () => undefined } });

it('gives each the keys of all, the new one those of who was there before it', async () => {
  const home = temporaryDirectory();
  const embedded = await createEmbeddedBus({ directory: join(home.path, 'bus'), logger, durableTopics: [] });
  let hellos = 0;
  await embedded.subscribe('config.sealed.hello', () => {
    hellos += 1;
  });
  const bus = {
    status: () => ({ engine: 'nats' }),
    publish: embedded.publish.bind(embedded),
    subscribe: embedded.subscribe.bind(embedded),
    request: embedded.request.bind(embedded),
  } as unknown as Bus;
  const seals: Seal[] = [];
  for (const name of ['one', 'two', 'three']) {
    const seal = await Seal.open(join(home.path, name));
    await createSealExchange({ bus, seal, logger }).start();
    seals.push(seal);
    const ids = seals.map(({ ownId }) => ownId);
    await waitFor(() => seals.every((each) => ids.every((id) => each.has(id))));
  }
  // They do not greet each other for ever: each new one is greeted by those who did not know it.
  expect(hellos).toBeLessThan(20);
  await embedded.stop();
  home.remove();
});
