import { integer } from '@trunkline/config';

/** The port of each service when all four run together, which is also where the commands look for them. */
export const portOptions = {
  voicePort: port('VOICE_PORT', 7866, 'voice service, also when it runs alone'),
  agentPort: port('AGENT_PORT', 7870, 'agent service'),
  researchPort: port('RESEARCH_PORT', 3399, 'research service, also when it runs alone'),
  switchboardPort: port('SWITCHBOARD_PORT', 3000, 'switchboard'),
};

function port(env: string, value: number, service: string) {
  return integer({ env, default: value, min: 0, max: 65_535, doc: `Port of the ${service}.` });
}
