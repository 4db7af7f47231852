import { createSampler } from '@trunkline/mcp';
import type { Policy } from '@trunkline/policy';
import type { ServiceAddress } from '@trunkline/service';
import type { LiveModel } from '../agent-factory.ts';
import type { AgentContent } from '../content/agent-content.ts';
import type { AgentOptions } from '../options.ts';
import { signInCallback } from '../routes/mcp-sign-in.ts';
import type { LiveConfig } from '../setup/config-file.ts';
import type { ToolsetOptions } from '../toolset.ts';

interface McpDeps {
  options: Pick<AgentOptions, 'agentName'>;
  live: Pick<LiveConfig, 'store'>;
  policy: Policy;
  address: ServiceAddress;
  model: Pick<LiveModel, 'gateway'>;
  content: Pick<AgentContent, 'turnFiles'>;
}

/** How clients of MCP servers sign in, and the model that servers may use. */
export function mcpClientOptions(deps: McpDeps): ToolsetOptions['mcp'] {
  const { options, live, policy, address, model, content } = deps;
  return {
    oauth: { store: live.store, redirectUrl: () => `${address.publicUrl}${signInCallback}` },
    sample: createSampler({
      gateway: () => model.gateway,
      files: (place) => content.turnFiles(place),
      policy: policy.for(options.agentName),
    }),
  };
}
