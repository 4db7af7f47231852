import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, readVariable } from '@trunkline/config';
import { createGuardedFetch, type GuardedFetchOptions } from '@trunkline/http';
import { defineTool, guessSubject, inputFromSchema, type Tool } from '@trunkline/llm';
import type { Sandbox } from '@trunkline/sandbox';
import { ifExists } from '@trunkline/storage';
import type { Plugin } from '../open-plugins.ts';
import type { PluginToolHead } from './messages.ts';
import {
  type Confinement,
  findConfinement,
  type Manifest,
  PluginProcess,
  readManifest,
  sandboxed,
} from './plugin-process.ts';

export interface ExternalPluginOptions {
  /** Holds a directory for each plugin. */
  directory: string;
  env?: Environment | undefined;
  fetch?: Pick<GuardedFetchOptions, 'allowedHosts' | 'allowedCidrs'>;
  logger: { warn(fields: object, message: string): void };
  /** What keeps the processes from the network and from signals; found out where it is not given. */
  confinement?: Confinement;
  /** Does more than a confinement and takes its place where the system has it. */
  sandbox?: Sandbox;
}

/** The plugins that stand in the directory; one whose manifest cannot be read is named and left out. */
export async function findExternalPlugins(options: ExternalPluginOptions): Promise<Plugin[]> {
  const entries = (await ifExists(readdir(options.directory, { withFileTypes: true }))) ?? [];
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const found = await Promise.all(
    names.sort().map((name) => readOne(join(options.directory, name), options)),
  );
  return found.filter((plugin) => plugin !== undefined);
}

async function readOne(directory: string, options: ExternalPluginOptions): Promise<Plugin | undefined> {
  try {
    return toPlugin(directory, await readManifest(directory), options);
  } catch (error) {
    options.logger.warn({ err: error, directory }, 'failed to read plugin manifest');
    return undefined;
  }
}

function toPlugin(directory: string, manifest: Manifest, options: ExternalPluginOptions): Plugin {
  const { env, fetch, logger } = options;
  const { id, description, permissions } = manifest;
  return {
    id,
    description,
    missing: () => undefined,
    async open() {
      const sandbox = await inForce(options.sandbox);
      const confinement = options.confinement ?? (sandbox ? sandboxed : await findConfinement());
      const { unenforced } = confinement;
      if (unenforced.length > 0)
        logger.warn({ plugin: id, unenforced }, 'plugin started without enforcing all its denials');
      const running = new PluginProcess({
        directory,
        manifest,
        environment: Object.fromEntries(
          permissions.environment.map((name) => [name, readVariable(name, env) ?? '']),
        ),
        fetch: createGuardedFetch({ ...fetch, maxRedirects: 0 }),
        confinement,
        sandbox,
      });
      const heads = await running.tools();
      const tools = heads.map((head) => toTool(manifest, head, running));
      return { tools, unenforced, close: () => running.close() };
    },
  };
}

/** One that refuses to run anything without isolation is in force, too. */
async function inForce(sandbox: Sandbox | undefined): Promise<Sandbox | undefined> {
  const status = await sandbox?.status();
  return status?.isolated || status?.refuses ? sandbox : undefined;
}

function toTool(
  { id, timeout_s, permissions }: Manifest,
  { name, description, parameters }: PluginToolHead,
  running: PluginProcess,
): Tool {
  const staysHere = permissions.network.length === 0;
  return defineTool({
    name: `${id}_${name}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64),
    description,
    input: inputFromSchema(parameters),
    timeoutMs: timeout_s * 1000 + 5000,
    // Its process has no files; what its tools can do beyond answering goes through the network.
    effects: staysHere ? ['reads'] : ['reads', 'writes', 'sends'],
    external: true,
    subject: (input) => guessSubject(input, { staysHere }),
    execute: async (input, { signal }) => running.call(name, input, signal),
  });
}
