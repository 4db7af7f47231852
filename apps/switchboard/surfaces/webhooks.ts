import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import {
  createApp,
  defineErrors,
  describeRoute,
  type ErrorKind,
  type RunningServer,
  serve,
} from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { throwBusFailure } from '../errors.ts';
import manifest from '../package.json' with { type: 'json' };
import type { SwitchboardEnv } from '../routes/guards.ts';

export interface WebhookSettings {
  surface: string;
  /** What the product is called in messages for people. */
  product: string;
  paths: readonly string[];
  secret: string | undefined;
  secretVariable: string;
  /** SWITCHBOARD_ALLOW_UNSIGNED: takes webhooks without a signature while there is no secret. */
  allowUnsigned: boolean;
  /** Holds the HMAC-SHA256 of the body in hexadecimal. */
  signatureHeader: string;
  /** What it answers with beside the errors of every webhook. */
  errors?: readonly ErrorKind[];
  host: string;
  port: number;
  portVariable: string;
  bodyLimit: number;
}

export interface Webhook {
  body: Uint8Array;
  header(name: string): string | undefined;
  arrivedAt: number;
}

/** Handles a webhook; when it returns, nothing of it can be lost any more. A SyntaxError or ZodError says that it is none. */
type Take = (webhook: Webhook) => Promise<Receipt>;

/** What became of a delivery, for whoever looks at it at the product. */
export interface Receipt {
  /** It was accepted before, and nothing is done again. */
  isKnown: boolean;
  /** The flows that it started. */
  flows: readonly string[];
}

/**
 * Receives the webhooks of a product: with the other routes, and on a port of its own, so that only that one need be
 * opened to the outside. The signature is checked on the bytes as they came.
 */
export class WebhookReceiver {
  readonly #settings: WebhookSettings;
  readonly #errors;
  #take: Take | undefined;

  constructor(settings: WebhookSettings) {
    const { product, secretVariable } = settings;
    this.#settings = settings;
    this.#errors = defineErrors({
      signature_wrong: [
        401,
        `The signature does not fit: ${secretVariable} must be the signing secret of the webhook.`,
      ],
      unsigned: [
        401,
        `Webhooks are refused while ${secretVariable} is unset; set it, or SWITCHBOARD_ALLOW_UNSIGNED=1 where nobody else reaches this port.`,
      ],
      hook_unreadable: [
        400,
        ({ words }: { words: string }) => `This is no webhook of the ${product}: ${words}`,
      ],
    });
  }

  mount(app: Hono<SwitchboardEnv>): void {
    const { product, paths, errors = [] } = this.#settings;
    const description = {
      summary: `Webhooks of the ${product}`,
      errors: [...Object.values(this.#errors), ...errors],
    };
    for (const path of paths) app.post(path, describeRoute(description), (context) => this.#receive(context));
  }

  /** Opens the port of its own; webhooks are handled from now on. */
  async start(take: Take, logger: Logger): Promise<RunningServer> {
    const { surface, host, port, portVariable, bodyLimit, paths } = this.#settings;
    const app = createApp<Caller>({
      service: `${surface}-webhooks`,
      version: manifest.version,
      logger,
      bodyLimit,
      anyBodyType: true,
      renderError: (error) => ({ body: { success: false, error: error.message } }),
      health: () => ({ status: 200, body: { ok: true } }),
    });
    this.mount(app);
    this.#take = take;
    const server = await serve(app, { host, port, portVariable, logger });
    logger.info({ url: `${server.url}${paths[0]}` }, `${surface} webhook server started`);
    return server;
  }

  async #receive(context: Context): Promise<Response> {
    const { surface, secret, allowUnsigned, signatureHeader } = this.#settings;
    const { unsigned, signature_wrong, hook_unreadable } = this.#errors;
    const arrivedAt = Date.now();
    const header = (name: string) => context.req.header(name);
    const body = new Uint8Array(await context.req.arrayBuffer());
    if (secret === undefined && !allowUnsigned) throw unsigned();
    if (secret !== undefined && !isSignedBy(secret, body, header(signatureHeader)?.replace(/^sha256=/, '')))
      throw signature_wrong();
    if (this.#take === undefined) throw new Error(`The ${surface} surface is not running.`);
    try {
      const { isKnown, flows } = await this.#take({ body, header, arrivedAt });
      const about = flows.length === 0 ? '' : `: ${flows.join(', ')}`;
      return context.text(isKnown ? `Known, and not done again${about}` : 'OK');
    } catch (error) {
      if (error instanceof SyntaxError) throw hook_unreadable({ words: error.message }, { cause: error });
      if (error instanceof z.ZodError)
        throw hook_unreadable({ words: z.prettifyError(error) }, { cause: error });
      throwBusFailure(error);
    }
  }
}

/** Compares in constant time. */
function isSignedBy(secret: string, body: Uint8Array, signature: string | undefined): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(signature ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/**
 * The id for deduplication. Signatures do not cover the id in the header, so a caught body could be sent under new ids:
 * with a secret, the body itself is the id.
 */
export function deliveryIdOf(
  secret: string | undefined,
  body: Uint8Array,
  named: string | undefined,
): string {
  return secret === undefined ? (named ?? randomUUID()) : createHash('sha256').update(body).digest('hex');
}

/** As long as the journal; no product repeats a webhook after that. */
const keptMs = 7 * 86_400_000;
/** Named in the record of a delivery, which must be short. */
const mostFlows = 5;

/** Webhooks that any switchboard on the bus has accepted. */
export class AcceptedWebhooks {
  readonly #memory: Memory;

  private constructor(memory: Memory) {
    this.#memory = memory;
  }

  static async open(bus: Bus, surface: string): Promise<AcceptedWebhooks> {
    return new AcceptedWebhooks(await bus.memory(`${surface}-deliveries`, { ttlMs: keptMs }));
  }

  /** The id under which these bytes came first: no signature covers the id in the header. */
  async idOf(body: Uint8Array, named: string | undefined): Promise<string> {
    return await this.#memory.keep(`body-${hashOf(body)}`, hashOf(named ?? randomUUID()));
  }

  /**
   * Accepts a delivery once; recorded afterwards, so that an interrupted one is accepted when it is repeated.
   * `take` gives the correlations of what it published.
   */
  async once(id: string, take: () => Promise<readonly string[]>): Promise<Receipt> {
    const key = `id-${hashOf(id)}`;
    const known = await this.#memory.recall(key);
    if (known !== undefined) return { isKnown: true, flows: flowsIn(known) };
    const flows = (await take()).map((correlationId) => `skill-${correlationId}`);
    await this.#memory.keep(key, JSON.stringify(flows.slice(0, mostFlows)));
    return { isKnown: false, flows };
  }
}

/** Records of older versions hold a word instead. */
function flowsIn(record: string): string[] {
  return record.startsWith('[') ? (JSON.parse(record) as string[]) : [];
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
