import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@trunkline/config';
import { writeFileAtomic } from '@trunkline/storage';
import type { AgentOptions } from '../options.ts';
import type { AgentConfig, AgentSecrets } from './config-schema.ts';
import { keyFor } from './kept-key.ts';

/** The model as the configuration, its secrets and the variables together name it. */
export interface ModelSettings {
  url: string | undefined;
  apiKey: string | undefined;
  model: string | undefined;
}

type ModelOptions = Pick<AgentOptions, 'llmGatewayUrl' | 'llmApiKey' | 'llmModel' | 'coreModel'>;

export function modelSettings(
  options: ModelOptions,
  config: AgentConfig,
  secrets: AgentSecrets,
): ModelSettings {
  const url = firstGiven(config.model.api_base, options.llmGatewayUrl);
  return {
    url,
    apiKey: keyFor(url, secrets.model, firstGiven(options.llmApiKey)),
    model: firstGiven(options.coreModel, config.model.name, options.llmModel),
  };
}

/** What is missing for a setup without a wizard, each with the way to mend it. */
function missingForSetup({ url, apiKey }: ModelSettings): string[] {
  return [
    url === undefined && 'model.api_base is not set: write it into the configuration, or set LLM_GATEWAY_URL',
    apiKey === undefined &&
      `there is no API key${url === undefined ? '' : ` for ${url}`}: set LLM_API_KEY, or model.api_key in secrets.yaml (with model.api_base beside it, the key goes there alone)`,
  ].filter((problem) => problem !== false);
}

export function isSetupComplete(directory: string): boolean {
  return existsSync(markerIn(directory));
}

/** Checks what a setup needs and marks it complete; fails with all that is missing. */
export async function completeSetup(directory: string, settings: ModelSettings): Promise<void> {
  requireSetup(settings);
  await writeFileAtomic(markerIn(directory), `${new Date().toISOString()}\n`);
}

/** Fails with all that a setup lacks. */
export function requireSetup(settings: ModelSettings): void {
  const missing = missingForSetup(settings);
  if (missing.length > 0) throw new ConfigError('The setup of the agent is not complete:', missing);
}

function markerIn(directory: string): string {
  return join(directory, '.setup-complete');
}

function firstGiven(...texts: (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && text.trim() !== '');
}
