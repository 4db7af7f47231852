import { join } from 'node:path';
import { createApp, createMetrics, serve, servePages } from '@trunkline/http';
import { createModelGateway, type ModelGateway } from '@trunkline/llm';
import type { Missing, Service, Surroundings } from '@trunkline/service';
import { openBus } from './core/open-bus.ts';
import type { SwitchboardOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };

/** Starts the service; the only place that names its concrete parts. */
export async function start(options: SwitchboardOptions, surroundings: Surroundings): Promise<Service> {
  const { logger, services = () => [], portVariable = 'SWITCHBOARD_PORT' } = surroundings;
  const gateway = createModelGateway({
    url: options.llmGatewayUrl,
    apiKey: options.llmApiKey,
    model: options.llmModel,
    fastModel: options.llmFastModel,
    logger,
  });
  const bus = await openBus(options, { logger });
  const missing = () => missingParts(gateway);
  const app = createApp({
    service: 'switchboard',
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'switchboard' }),
    renderError: (error) => ({ body: { success: false, error: error.message } }),
    health: () => ({
      status: bus.status().connected ? 200 : 503,
      body: {
        ok: bus.status().connected,
        bus: bus.status(),
        model: gateway.describe(),
        missing: missing(),
        services: services(),
      },
    }),
  });
  servePages(app, { directory: join(import.meta.dirname, 'dist') });
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger }).catch(
    async (error: unknown) => {
      await bus.stop();
      throw error;
    },
  );
  const stop = async () => {
    await server.stop();
    await bus.stop();
  };
  return { url: server.url, missing, stop };
}

function missingParts(gateway: ModelGateway): Missing[] {
  if (!gateway.describe().demo) return [];
  return [
    {
      what: 'a model',
      variable: 'LLM_GATEWAY_URL',
      hint: 'the offline demo model answers until you set one',
    },
  ];
}
