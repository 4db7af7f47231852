import { defineOptions, text, url } from '@trunkline/config';

export const chatOptions = defineOptions(
  'chat',
  'Chat: a conversation with the agent service in the terminal',
  {
    agentUrl: url({
      env: 'AGENT_URL',
      flag: '--url',
      default: 'http://127.0.0.1:7870',
      doc: 'Where the agent service is.',
    }),
    authToken: text({ env: 'A2A_AUTH_TOKEN', secret: true, doc: 'Bearer token of the agent service.' }),
  },
);
