import type { Exposure } from '@trunkline/service';
import type { ServiceOptions } from './service-options.ts';

/** How others reach each service, for those who look for weak spots. */
export function exposures({ agent, research, voice, switchboard }: ServiceOptions): Exposure[] {
  return [
    {
      name: 'agent',
      host: agent.host,
      key: agent.authToken,
      variable: 'A2A_AUTH_TOKEN',
      otherKeys: { CORE_OPERATOR_TOKEN: agent.operatorToken },
    },
    { name: 'research', host: research.host, key: research.authToken, variable: 'RESEARCH_AUTH_TOKEN' },
    { name: 'switchboard', host: switchboard.host, key: switchboard.apiKey, variable: 'SWITCHBOARD_API_KEY' },
    { name: 'voice', host: voice.host, key: voice.a2aAuthToken, variable: 'A2A_AUTH_TOKEN' },
  ];
}
