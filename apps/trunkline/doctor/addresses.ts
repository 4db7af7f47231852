import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { agentOptions } from '@trunkline/agent';
import { type Environment, type OptionTable, parseYaml } from '@trunkline/config';
import { whyUnreachable } from '@trunkline/http';
import { researchOptions } from '@trunkline/research';
import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { ifExists, serviceHome } from '@trunkline/storage';
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
  // Variables may put these elsewhere.
  const named = [voice.delegatesYaml, voice.mcpYaml, switchboard.agentsFile].filter(
    (file) => file !== undefined,
  );
  const files = await ofFiles(folders, named, env);
  const found = [...ofOptions(services), ...ofPeers(env), ...files.addresses];
  const settings = Map.groupBy(found, ({ url }) => url);
  const tried = [...settings].slice(0, MAX_ADDRESSES);
  const checks = tried.map(([url, places]) =>
    checkAddress(url, [...new Set(places.map(({ setting }) => setting))]),
  );
  const findings = [...(await Promise.all(checks)), ...files.unread];
  if (findings.length > 0) return findings;
  return [{ subject: 'addresses', state: 'ok', words: 'none is set beside the above.' }];
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

interface FileAddresses {
  addresses: Address[];
  /** Files of which not every address is known. */
  unread: Diagnosis[];
}

/** Addresses in YAML files: the agent's own model, delegates, MCP servers, agents of others, webhooks. */
async function ofFiles(
  folders: readonly string[],
  named: readonly string[],
  env: Environment,
): Promise<FileAddresses> {
  const inFolders = await Promise.all(folders.map((folder) => yamlFiles(folder, MAX_DEPTH)));
  const files = [...new Set([...named, ...inFolders.flat()].map((file) => resolve(file)))];
  const read = await Promise.all(files.slice(0, MAX_FILES).map((file) => ofFile(file, env)));
  return {
    addresses: read.flatMap(({ addresses }) => addresses),
    unread: read.flatMap(({ unread }) => unread),
  };
}

async function ofFile(file: string, env: Environment): Promise<FileAddresses> {
  const setting = basename(file);
  const addressesIn = (texts: readonly string[]) =>
    texts.filter((text) => isAddress(text)).map((url) => ({ url, setting }));
  let written: string[] | undefined;
  try {
    // A file that is not there yet names nothing.
    const text = (await ifExists(readFile(file, 'utf8'))) ?? '';
    written = addressTexts(parseYaml(text, z.unknown(), { file, expand: false }));
    const expanded = addressTexts(parseYaml(text, z.unknown(), { file, env }));
    return { addresses: addressesIn(expanded), unread: [] };
  } catch (error) {
    const addresses = addressesIn(written ?? []);
    // A reference elsewhere, as in a prompt or in place of a token, hides no address.
    if (written?.every((text) => isAddress(text) || !text.includes('${'))) return { addresses, unread: [] };
    const words = `Not every address in it is checked. ${errorMessage(error)}`;
    const advice = `Mend ${file}, or set what it refers to.`;
    return { addresses, unread: [{ subject: setting, state: 'warning', words, advice }] };
  }
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

/** Texts that stand where an address belongs. */
function addressTexts(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== 'string') return addressTexts(inner);
    return /(^|_)(url|endpoint|api_base)$|Url$|Jwks$/.test(key) ? [inner] : [];
  });
}

/** Whether it is known where the address leads: its path may hold a reference, its host may not. */
function isAddress(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && !new URL(text).host.includes('$');
}
