import { join } from 'node:path';
import { createApp, createMetrics, serve, servePages } from '@trunkline/http';
import { createModelGateway, type ModelGateway } from '@trunkline/llm';
import type { Missing, Service, Surroundings } from '@trunkline/service';
import type { AgentOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };

/** Starts the service; the only place that names its concrete parts. */
export async function start(options: AgentOptions, surroundings: Surroundings): Promise<Service> {
  const { logger, services = () => [], portVariable = '--port' } = surroundings;
  const gateway = createModelGateway({
    url: options.llmGatewayUrl,
    apiKey: options.llmApiKey,
    model: options.llmModel,
    fastModel: options.llmFastModel,
    logger,
  });
  const missing = () => missingParts(gateway);
  const app = createApp({
    service: 'agent',
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'agent' }),
    renderError: (error) => ({ body: { detail: error.message } }),
    health: () => ({
      status: 200,
      body: { ok: true, model: gateway.describe(), missing: missing(), services: services() },
    }),
  });
  servePages(app, { directory: join(import.meta.dirname, 'dist') });
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger });
  return { url: server.url, missing, stop: () => server.stop() };
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
