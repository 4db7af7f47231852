import type { Logger } from '@trunkline/config';
import { createApp, type RunningServer, serve } from '@trunkline/http';
import type { Hono } from 'hono';
import type { Caller } from '../access/caller.ts';
import manifest from '../package.json' with { type: 'json' };
import type { SwitchboardEnv } from '../routes/guards.ts';

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
