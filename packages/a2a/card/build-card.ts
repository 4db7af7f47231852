import type { ProtocolVersion } from '../dialects/version.ts';
import type { AgentDescription, ServerFacts } from './agent-card.ts';
import { cardV03 } from './card-v03.ts';
import { cardV10 } from './card-v10.ts';

export function buildCard(version: ProtocolVersion, agent: AgentDescription, facts: ServerFacts): object {
  return version === '1.0' ? cardV10(agent, facts) : cardV03(agent, facts);
}
