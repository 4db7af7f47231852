import { fetchOnNewConnection } from '@trunkline/http';
import { type Clock, systemClock } from '@trunkline/schedule';
import { createA2aClient as create } from './client.ts';
import type { A2aClient } from './remote-agent.ts';

/** The client of our services. A message to an agent of others never goes over a connection that may just be closing. */
export function createA2aClient(clock: Clock = systemClock): A2aClient {
  return create(clock, (input, init) =>
    input instanceof Request ? fetch(input, init) : fetchOnNewConnection(input, init),
  );
}
