import type { ConversationStore, Turn } from './conversation-store.ts';

/** What of a conversation goes to the model again. */
const mostTurns = 30;
const mostCharacters = 24_000;

/** What an agent of this process remembers of a conversation. */
export interface TurnMemory {
  recall(conversationId: string, agent: string): Turn[];
  note(turn: Omit<Turn, 'at'>): void;
}

/** Remembers the last turns, as many as fit. */
export function createTurnMemory(store: ConversationStore): TurnMemory {
  return {
    recall: (conversationId, agent) => fitting(store.turns({ conversationId, agent, limit: mostTurns })),
    note: (turn) => store.addTurn(turn),
  };
}

function fitting(turns: Turn[]): Turn[] {
  let left = mostCharacters;
  const first = turns.findLastIndex(({ said, answered }) => {
    left -= said.length + answered.length;
    return left < 0;
  });
  return turns.slice(first + 1);
}
