import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { createApp, type RunningServer, serve } from '@trunkline/http';
import type { Hono } from 'hono';
import type { Caller } from '../access/caller.ts';
import manifest from '../package.json' with { type: 'json' };
import type { SwitchboardEnv } from '../routes/guards.ts';

/** As long as the journal keeps the messages; no product sends a webhook again after that. */
const keptMs = 7 * 86_400_000;

/** Which webhooks of a product any switchboard on the bus has accepted. */
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

  /** Accepts a delivery once. It is recorded afterwards: an interrupted one is accepted when it comes again. */
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

/** Whether the hexadecimal signature is the HMAC-SHA256 of these very bytes; takes the same time either way. */
export function isSignedBy(secret: string, body: Uint8Array, signature: string | undefined): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(signature ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/**
 * By what a delivery is known when it comes again. Signatures do not cover the id in the header, so that whoever caught
 * a signed body could send it under new ones: where there is a secret, the body itself is the id.
 */
export function deliveryIdOf(
  secret: string | undefined,
  body: Uint8Array,
  named: string | undefined,
): string {
  return secret === undefined ? (named ?? randomUUID()) : createHash('sha256').update(body).digest('hex');
}

export interface WebhookServerSettings {
  name: string;
  host: string;
  port: number;
  portVariable: string;
  bodyLimit: number;
  logger: Logger;
  mount(app: Hono<SwitchboardEnv>): void;
}

/** A port of its own for the webhooks of one product, so that only it need be opened to the outside. */
export async function startWebhookServer(settings: WebhookServerSettings): Promise<RunningServer> {
  const { name, host, port, portVariable, bodyLimit, logger, mount } = settings;
  const app = createApp<Caller>({
    service: `${name}-webhooks`,
    version: manifest.version,
    logger,
    bodyLimit,
    anyBodyType: true,
    renderError: (error) => ({ body: { success: false, error: error.message } }),
    health: () => ({ status: 200, body: { ok: true } }),
  });
  mount(app);
  return await serve(app, { host, port, portVariable, logger });
}
