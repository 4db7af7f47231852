import { readFile } from 'node:fs/promises';
import { ConfigError } from '@trunkline/config';
import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import { createModelGateway, type ModelGateway } from '@trunkline/llm';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { LiveConfig } from '../../setup/config-file.ts';
import type { ModelSettings } from '../../setup/setup.ts';
import { consoleErrors } from './errors.ts';

export interface ConfigRoutes {
  live: LiveConfig;
  gateway(): ModelGateway;
  /** The model as the files and variables name it now. */
  settings(): ModelSettings;
  /** Writes what is given into the files and completes the setup. */
  setUp(given: Partial<ModelSettings>): Promise<void>;
}

const written = z.object({ text: z.string() });
const modelGiven = z.object({
  api_base: z.url().optional(),
  api_key: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
});

const checkLimitMs = 15_000;

/** The live configuration, and the setup of the model. */
export function mountConfig(app: Hono<AppEnv>, routes: ConfigRoutes): void {
  const { live } = routes;
  const read = async () => ({
    file: live.file,
    text: await readFile(live.file, 'utf8'),
    config: live.config,
  });
  app.get('/api/config', describeRoute({ summary: 'The live configuration' }), async (context) =>
    context.json(await read()),
  );
  app.put(
    '/api/config',
    describeRoute({
      summary: 'Replace the live configuration',
      description: 'Nothing changes when the text is not valid.',
    }),
    validate('json', written),
    async (context) => {
      await orRefusal(() => live.write(context.req.valid('json').text));
      return context.json({ ok: true });
    },
  );
  app.post(
    '/api/config/test-model',
    describeRoute({ summary: 'Try the model, or the one given' }),
    validate('json', modelGiven.nullish()),
    async (context) => {
      const given = givenSettings(context.req.valid('json') ?? {});
      const isOther = Object.keys(given).length > 0;
      const gateway = isOther ? createModelGateway({ ...routes.settings(), ...given }) : routes.gateway();
      return context.json(await gateway.check(AbortSignal.timeout(checkLimitMs)));
    },
  );
  app.post(
    '/api/config/setup',
    describeRoute({ summary: 'Complete the setup' }),
    validate('json', modelGiven.nullish()),
    async (context) => {
      await orRefusal(() => routes.setUp(givenSettings(context.req.valid('json') ?? {})));
      return context.json({ ok: true, setup_complete: true });
    },
  );
}

function givenSettings({ api_base, api_key, model }: z.output<typeof modelGiven>): Partial<ModelSettings> {
  return {
    ...(api_base !== undefined && { url: api_base }),
    ...(api_key !== undefined && { apiKey: api_key }),
    ...(model !== undefined && { model }),
  };
}

async function orRefusal<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw consoleErrors.config_invalid({ words: error.message }, { cause: error });
  }
}
