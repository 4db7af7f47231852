import type { Principal } from '@trunkline/identity';

/** The operator's own memories, and all that were stored before memories had owners. */
export const operatorScope = 'operator';

export interface ScopeRequest {
  principal: Principal;
  /** The conversation. */
  sessionId: string;
  /** The user that a program with a token speaks for, where it names one. */
  user?: string | undefined;
}

export interface ScopeRules {
  /** `memory.shared` of the configuration: everybody has the operator's. */
  isShared: boolean;
  /** TRUNKLINE_OPEN: whoever comes in is the operator. */
  isOpen: boolean;
}

/**
 * Whose memories a turn reads and writes. A person has their own wherever they write; somebody who cannot be told
 * from others has those of the conversation alone.
 */
export function memoryScope({ principal, sessionId, user }: ScopeRequest, rules: ScopeRules): string {
  const { kind, id } = principal;
  const conversation = `context:${sessionId}`;
  if (rules.isShared || kind === 'operator') return operatorScope;
  switch (kind) {
    case 'person':
    case 'approver':
      return `person:${id}`;
    case 'service':
      return `service:${id}`;
    case 'agent':
      if (user !== undefined && user !== '') return `agent:${id}/user:${user}`;
      if (rules.isOpen) return operatorScope;
      return id === 'a2a' ? conversation : `agent:${id}`;
    case 'anonymous':
      return rules.isOpen ? operatorScope : conversation;
  }
}

/**
 * Whose conversation it is: the same id in the hands of somebody else is another conversation. People on a chat or
 * mail surface share those of the surface, which names them; everybody else has their own.
 */
export function conversationOwner(request: ScopeRequest, rules: ScopeRules): string {
  const { kind, id } = request.principal;
  const [surface] = id.split(':');
  const isOnSurface = (kind === 'person' || kind === 'approver') && surface !== 'voice';
  return isOnSurface && !rules.isShared ? `people:${surface}` : memoryScope(request, rules);
}

/** Whether no other conversation can ever have the scope. */
export function isOfOneConversation(scope: string): boolean {
  return scope.startsWith('context:');
}
