import type { Dialect } from '../dialects/dialect.ts';
import type { AgentDescription, ServerFacts } from './agent-card.ts';
import { cardV03, cardV03Rest } from './card-v03.ts';
import { cardV10 } from './card-v10.ts';

const builders: Record<Dialect['name'], (agent: AgentDescription, facts: ServerFacts) => object> = {
  v03: cardV03,
  'v03-rest': cardV03Rest,
  v10: cardV10,
};

export function buildCard(form: Dialect['name'], agent: AgentDescription, facts: ServerFacts): object {
  return builders[form](agent, facts);
}
