import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { agentOptions } from '@trunkline/agent';
import { type Environment, type OptionTable, parseYaml } from '@trunkline/config';
import { whyUnreachable } from '@trunkline/http';
import { researchOptions } from '@trunkline/research';
import type { Diagnosis } from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import { switchboardOptions } from '@trunkline/switchboard';
import { voiceOptions } from '@trunkline/voice';
import { z } from 'zod';
import type { ServiceOptions } from '../fleet/service-options.ts';

const LIMIT_MS = 3000;
const MAX_ADDRESSES = 200;
const MAX_FILES = 500;
const MAX_DEPTH = 3;

/** Checks of their own say more about these. */
const CHECKED_ELSEWHERE = new Set(['LLM_GATEWAY_URL', 'NATS_URL', 'OIDC_ISSUER']);

/** An address, and what names it: variables, or a file and the place in it. */
interface Address {
  url: string;
  setting: string;
}

/** Connects to every address that variables and the files of the services name; nothing is sent. */
export async function checkAddresses(services: ServiceOptions, env: Environment): Promise<Diagnosis[]> {
  const { voice, agent, switchboard } = services;
  const homeOf = (service: string) => serviceHome(agent.trunklineHome, service);
  const folders = [
    voice.configDir ?? join(homeOf('voice'), 'config'),
    agent.configDirectory ?? join(homeOf('agent'), 'config'),
    switchboard.workspaceDirectory ?? join(homeOf('switchboard'), 'workspace'),
  ];
  const found = [...ofOptions(services), ...ofPeers(env), ...(await ofFiles(folders))];
  const settings = Map.groupBy(found, ({ url }) => url);
  const tried = [...settings].slice(0, MAX_ADDRESSES);
  if (tried.length === 0)
    return [{ subject: 'addresses', state: 'ok', words: 'none is set beside the above.' }];
  return Promise.all(
    tried.map(([url, named]) => checkAddress(url, [...new Set(named.map(({ setting }) => setting))])),
  );
}

async function checkAddress(url: string, settings: readonly string[]): Promise<Diagnosis> {
  const subject = settings[0] ?? 'address';
  // Names, paths and queries may hold a secret, as those of webhooks do.
  const shown = new URL(url).origin;
  const reason = await whyUnreachable(url, LIMIT_MS);
  if (reason === undefined) return { subject, state: 'ok', words: `${shown} takes connections.` };
  const advice = `Check that it runs, and ${settings.join(' and ')}.`;
  return { subject, state: 'failed', words: `Cannot reach ${shown}: ${reason}.`, advice };
}

/** Options of every service whose kind is an address, where they are set. */
function ofOptions(services: ServiceOptions): Address[] {
  const tables: [OptionTable, Readonly<Record<string, unknown>>][] = [
    [voiceOptions, services.voice],
    [agentOptions, services.agent],
    [researchOptions, services.research],
    [switchboardOptions, services.switchboard],
  ];
  return tables.flatMap(([{ options }, values]) =>
    Object.entries(options).flatMap(([key, option]) => {
      const [setting = option.flag ?? key] = option.env;
      const url = values[key];
      // The address of the service itself is for others, and may lead through a proxy.
      if (!option.isAddress || key === 'publicUrl' || CHECKED_ELSEWHERE.has(setting)) return [];
      return typeof url === 'string' && url !== option.default && URL.canParse(url) ? [{ url, setting }] : [];
    }),
  );
}

/** Agents that variables name, such as PEER_ADA_URL. */
function ofPeers(env: Environment): Address[] {
  return Object.entries(env).flatMap(([setting, url]) =>
    /^PEER_.+_URL$/.test(setting) && url !== undefined && URL.canParse(url) ? [{ setting, url }] : [],
  );
}

/** Addresses in YAML files: the agent's own model, delegates, MCP servers, agents of others, webhooks. Broken files are told when a service reads them. */
async function ofFiles(folders: readonly string[]): Promise<Address[]> {
  const files = await Promise.all(folders.map((folder) => yamlFiles(folder, MAX_DEPTH)));
  const texts = files
    .flat()
    .slice(0, MAX_FILES)
    .map(async (file) => addressesIn(parseOrNothing(await readFile(file, 'utf8'), file), basename(file)));
  return (await Promise.all(texts)).flat();
}

async function yamlFiles(folder: string, depth: number): Promise<string[]> {
  if (depth === 0) return [];
  // A folder that is not there yet names nothing.
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return yamlFiles(path, depth - 1);
    // Nothing reads examples: voice writes its own at the first start.
    const isRead = ['.yaml', '.yml'].includes(extname(entry.name)) && !/\.example\.ya?ml$/.test(entry.name);
    return isRead ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

function parseOrNothing(text: string, file: string): unknown {
  try {
    return parseYaml(text, z.unknown(), { file });
  } catch {
    return undefined;
  }
}

function addressesIn(value: unknown, setting: string): Address[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== 'string') return addressesIn(inner, setting);
    const isAddress =
      /(^|_)(url|endpoint|api_base)$|Url$/.test(key) && /^https?:/.test(inner) && URL.canParse(inner);
    return isAddress ? [{ url: inner, setting }] : [];
  });
}
