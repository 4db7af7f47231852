import { join } from 'node:path';
import { hourly } from '../../core/hourly.ts';
import type { Plugin, PluginContext } from '../../core/plugin.ts';
import { mountDeliveries } from '../../routes/deliveries.ts';
import { DeliveryStore } from './delivery-store.ts';
import { Outbox, type Outlet } from './outbox.ts';

/** Sends what surfaces hand in. It starts before them and stops after them. */
export interface Deliveries extends Plugin {
  /** Starts to deliver what the outlet subscribes to; returns a function that ends it. */
  open(outlet: Outlet): Promise<() => Promise<void>>;
}

export function createDeliveries(): Deliveries {
  let store: DeliveryStore | undefined;
  let outbox: Outbox | undefined;
  let stopSweeping: (() => void) | undefined;
  return {
    name: 'deliveries',
    mount: (app, { bus }) =>
      mountDeliveries(app, bus, {
        list: (query) => store?.list(query) ?? [],
        replay: (id) => outbox?.replay(id) ?? false,
      }),
    async start({ bus, home, logger, options }: PluginContext) {
      store = new DeliveryStore(join(home, 'deliveries.db'));
      outbox = new Outbox({ bus, store, logger, retryMs: options.deliveryRetryMs });
      stopSweeping = hourly(() => store?.sweep(), logger);
    },
    async stop() {
      stopSweeping?.();
      await outbox?.stop();
      store?.close();
    },
    open(outlet) {
      if (outbox === undefined) throw new Error('The deliveries did not start; the log says why.');
      return outbox.open(outlet);
    },
  };
}
