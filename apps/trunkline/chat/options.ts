import { defineOptions, homeOptions, text, url } from '@trunkline/config';
import { portOptions } from '../ports.ts';

export const chatOptions = defineOptions(
  'chat',
  'Chat: a conversation with the agent service in the terminal',
  {
    agentUrl: url({
      env: 'AGENT_URL',
      flag: '--url',
      doc: 'Where the agent service is.',
      defaultDoc: 'this machine, at AGENT_PORT',
    }),
    agentPort: portOptions.agentPort,
    trunklineHome: homeOptions.trunklineHome,
    authToken: text({ env: 'A2A_AUTH_TOKEN', secret: true, doc: 'Bearer token of the agent service.' }),
  },
);
