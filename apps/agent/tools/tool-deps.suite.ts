import { createSandbox, findIsolation } from '@trunkline/sandbox';
import { operatorActor } from '../owners.ts';
import { configSchema } from '../setup/config-schema.ts';
import type { ToolDeps } from './tool-module.ts';

/** Where the machine has none, programs run without. */
const sandbox = createSandbox({ mode: (await findIsolation()).kind === 'none' ? 'off' : 'auto' });

/** What tools get when nothing is configured and no backend is there, with what a test adds. */
export function toolDeps(given: Partial<ToolDeps> = {}): ToolDeps {
  return {
    options: {},
    config: configSchema.parse({ filesystem: { enabled: false } }),
    env: {},
    stores: {},
    scheduler: undefined,
    actor: () => operatorActor,
    workspace: '',
    sandbox,
    delegates: [],
    skills: { list: [], find: async () => undefined },
    fetch: {},
    ...given,
  };
}
