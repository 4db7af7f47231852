import type { Tool } from '@trunkline/llm';
import { createSandbox } from '@trunkline/sandbox';
import { operatorActor } from '../owners.ts';
import { configSchema } from '../setup/config-schema.ts';
import { collectTools } from '../toolset.ts';
import type { ToolDeps } from './tool-module.ts';
import { toolModules } from './tool-modules.ts';

/** Every built-in tool with what it declares, for those who explain policy. None of them can run. */
export function declaredTools(): readonly Tool[] {
  const absent = {} as never;
  const deps: ToolDeps = {
    options: {},
    config: configSchema.parse({ filesystem: { enabled: true, run_command: true } }),
    env: { PEER_ANY_URL: 'http://peer.invalid' },
    stores: { notes: absent, knowledge: absent, beads: absent, inbox: absent, goals: absent },
    actor: () => operatorActor,
    scheduler: absent,
    workspace: '.',
    sandbox: createSandbox({ mode: 'auto' }),
    delegates: [{ name: 'any', description: '', ask: async () => '' }],
    skills: { list: [], find: async () => undefined },
    fetch: {},
  };
  return collectTools(toolModules, deps).tools;
}
