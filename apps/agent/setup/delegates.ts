import { type Environment, readVariable } from '@trunkline/config';
import { createA2aDelegate, createCompatDelegate, type Delegate } from '@trunkline/tools';
import { createAcpDelegate } from '../tools/acp/acp-delegate.ts';
import type { CodingAgent } from '../tools/acp/code-with.ts';
import type { AgentConfig } from './config-schema.ts';

type DelegateConfig = AgentConfig['delegates'][number];
type ProcessConfig = Pick<
  DelegateConfig,
  'name' | 'args' | 'workdir' | 'env' | 'timeout_s' | 'permissions' | 'allow_kinds' | 'deny_kinds'
> & { command: string };

export interface DelegateSurroundings {
  /** Where agents that run as processes work when they name no place. */
  workspace: string;
  env: Environment | undefined;
}

/** Those to whom the configuration lets the agent hand parts of its work. */
export function delegatesOf({ delegates }: AgentConfig, around: DelegateSurroundings): Delegate[] {
  return delegates.filter(({ enabled }) => enabled).map((delegate) => toDelegate(delegate, around));
}

/** The coding agents that run as processes. */
export function codingAgentsOf({ coding_agents }: AgentConfig, around: DelegateSurroundings): CodingAgent[] {
  return coding_agents.map((agent) => ({ ...toProcess(agent, around), confirm: agent.confirm }));
}

function toDelegate(delegate: DelegateConfig, around: DelegateSurroundings): Delegate {
  const { name, description, token } = delegate;
  switch (delegate.type) {
    case 'a2a':
      return createA2aDelegate({ name, description, url: delegate.url ?? '', token, skill: delegate.skill });
    case 'compat':
      return createCompatDelegate({
        name,
        description,
        url: delegate.url ?? '',
        model: delegate.model ?? '',
        ...(token !== undefined && { apiKey: token }),
      });
    case 'acp':
      return createAcpDelegate(
        toProcess({ ...delegate, command: delegate.command ?? '' }, around),
        description,
      );
  }
}

function toProcess(
  { name, command, args, workdir, env, timeout_s, permissions, allow_kinds, deny_kinds }: ProcessConfig,
  { workspace, env: own }: DelegateSurroundings,
) {
  const path = readVariable('PATH', own);
  return {
    name,
    command,
    args,
    directory: workdir ?? workspace,
    env: { ...(path !== undefined && { PATH: path }), ...env },
    timeoutMs: timeout_s * 1000,
    permissions,
    allow_kinds,
    deny_kinds,
  };
}
