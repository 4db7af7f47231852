import type { SessionRegistry } from '../sessions/registry.ts';
import type { User } from '../users/user.ts';
import type { Line } from './line.ts';

export interface ConversationParts {
  sessions: SessionRegistry;
}

/** Holds a conversation with every caller that the media side has connected. */
export interface Conversations {
  begin(line: Line, user: User): void;
}

export function createConversations({ sessions }: ConversationParts): Conversations {
  return {
    begin(line, user) {
      const leave = sessions.open({ id: line.id, userId: user.id, offer: () => undefined });
      line.onClose(leave);
    },
  };
}
