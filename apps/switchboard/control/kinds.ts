import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadExternalAgents } from '@trunkline/a2a';
import { parseYaml } from '@trunkline/config';
import { z } from 'zod';
import { agentSchema, entryName } from '../workspace/agent-schema.ts';
import { mcpServerSchema, routeSchema } from '../workspace/schemas.ts';

/** What commands can change: the folder of its files, and the check of one file's text. */
export interface Kind {
  folder: string;
  /** Gives the name in the text; throws with line and words when it cannot be used. */
  check(text: string, file: string): Promise<string>;
}

const remoteHead = z.looseObject({ name: entryName, url: z.string() });

export const kinds = {
  agent: { folder: 'agents', check: async (text, file) => nameIn(text, agentSchema, file) },
  route: { folder: 'routes.d', check: async (text, file) => nameIn(text, routeSchema, file) },
  mcp: { folder: 'mcp-servers.d', check: async (text, file) => nameIn(text, mcpServerSchema, file) },
  a2a: { folder: 'agents.d', check: checkRemote },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;

function nameIn(text: string, schema: z.ZodType<{ name: string }>, file: string): string {
  return parseYaml(text, schema, { file, expand: false }).name;
}

/** Read by the loader that will read it for good, from a place of its own. */
async function checkRemote(text: string, file: string): Promise<string> {
  const name = nameIn(text, remoteHead, file);
  const directory = await mkdtemp(join(tmpdir(), 'switchboard-check-'));
  try {
    await writeFile(join(directory, `${name}.yaml`), text);
    await loadExternalAgents({ file: join(directory, 'none.yaml'), directory }, {});
    return name;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
