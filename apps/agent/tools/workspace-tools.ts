import { type Environment, readVariable } from '@trunkline/config';
import { createRunCommand, fileTools, withFileMarks } from '@trunkline/tools';
import type { AgentConfig } from '../setup/config-schema.ts';
import { defineToolModule } from './tool-module.ts';

/** Files of the workspace, and commands in it where the operator has turned them on. */
export const workspaceTools = defineToolModule({
  name: 'workspace',
  tools({ config, env, workspace, fileMarks, sandbox }) {
    if (!config.filesystem.enabled) return [];
    const plain = fileTools(workspace);
    const files = fileMarks === undefined ? plain : withFileMarks(plain, workspace, fileMarks);
    if (!runsCommands(config)) return files;
    const path = programPath(env);
    return [...files, createRunCommand({ directory: workspace, path, sandbox, marks: fileMarks })];
  },
});

/** Whether the operator has turned commands on. */
export function runsCommands({ filesystem }: AgentConfig): boolean {
  return filesystem.enabled && filesystem.run_command;
}

/** Where commands of the agent find programs. */
export function programPath(env: Environment | undefined): string {
  return readVariable('PATH', env) ?? '/usr/local/bin:/usr/bin:/bin';
}
