import { createHash, randomUUID } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';

/** As long as the journal keeps what came of them; no product sends a webhook again after that. */
const keptMs = 7 * 86_400_000;

/** Which webhooks of a product were taken already, by whichever switchboard on the bus. */
export class AcceptedWebhooks {
  readonly #memory: Memory;

  private constructor(memory: Memory) {
    this.#memory = memory;
  }

  static async open(bus: Bus, surface: string): Promise<AcceptedWebhooks> {
    return new AcceptedWebhooks(await bus.memory(`${surface}-deliveries`, { ttlMs: keptMs }));
  }

  /** The id under which these very bytes came first: no signature covers the id that a header names. */
  async idOf(body: Uint8Array, named: string | undefined): Promise<string> {
    return await this.#memory.keep(`body-${hashOf(body)}`, hashOf(named ?? randomUUID()));
  }

  /** Takes a delivery that was not taken before. It is noted afterwards: what is cut short is taken when it comes again. */
  async once(id: string, take: () => Promise<void>): Promise<void> {
    const key = `id-${hashOf(id)}`;
    if ((await this.#memory.recall(key)) !== undefined) return;
    await take();
    await this.#memory.keep(key, 'taken');
  }
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
