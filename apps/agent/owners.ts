import { ownerKey, type Principal, quotaKey } from '@trunkline/identity';
import { StoreError } from './stores/store-error.ts';

/** The operator's own things, and memories and conversations that were stored before they had owners. */
export const operatorScope = 'operator';

/** Programs with `A2A_AUTH_TOKEN`. */
const tokenOwner = 'agent:a2a';
const accountPrefix = 'user:';
const operator: Principal = { kind: 'operator', id: 'operator', via: [] };

/** Somebody before a store: what they make has this owner, and they see what the viewer may see. */
export interface Actor {
  owner: string;
  viewer: Principal;
  /** Throws where so many bytes more are too many for the owner. */
  keep?: (bytes: number) => void;
}

/** Words for an owner who would keep too much; undefined where it fits. */
export type Room = (owner: string, bytes: number) => string | undefined;

/** For work of the agent itself. */
export const operatorActor: Actor = { owner: operatorScope, viewer: operator };

export interface ScopeRequest {
  principal: Principal;
  /** The conversation. */
  sessionId: string;
  /** The user that a program with a token speaks for, where it names one. */
  user?: string | undefined;
}

export interface OwnerRules {
  /** `memory.shared` of the configuration: everybody has the operator's memories and conversations. */
  isShared: boolean;
  /** TRUNKLINE_OPEN: whoever comes in is the operator. */
  isOpen: boolean;
}

export type Owners = ReturnType<typeof createOwners>;

/** Moves memories from one owner to another. */
type Adopt = (from: string, to: string) => void;

/**
 * Who owns what. A thing has the `ownerKey` of whoever made it; conversations and memories differ where people share
 * them. `identitiesOf` gives the identities that are linked to an account: what they made before is the account's too.
 */
export function createOwners(
  rules: () => OwnerRules,
  identitiesOf: (accountId: string) => readonly string[] = () => [],
) {
  let room: Room = () => undefined;
  const adopters: Adopt[] = [];
  const adopted = new Set<string>();
  const viewer = (principal: Principal): Principal => {
    const { kind, id } = principal;
    if (rules().isOpen && (kind === 'anonymous' || kind === 'agent')) return operator;
    if (kind !== 'person' || !id.startsWith(accountPrefix)) return principal;
    const aliases = identitiesOf(id.slice(accountPrefix.length)).map((identity) => `person:${identity}`);
    return aliases.length === 0 ? principal : { ...principal, aliases };
  };
  const conversation = (principal: Principal): string =>
    rules().isShared ? operatorScope : (roomOf(principal) ?? keyOf(principal));
  const adopt = ({ aliases = [] }: Principal, owner: string) => {
    for (const alias of aliases.filter((each) => !adopted.has(`${each} ${owner}`))) {
      for (const move of adopters) move(alias, owner);
      adopted.add(`${alias} ${owner}`);
    }
  };
  const keyOf = (principal: Principal) => {
    const seen = viewer(principal);
    return seen.kind === 'operator' ? operatorScope : ownerKey(seen);
  };
  return {
    viewer,
    actor(principal: Principal): Actor {
      const keep = (bytes: number) => keepWithin(room, quotaKey(principal), bytes);
      return { owner: ownerKey(principal), viewer: viewer(principal), keep };
    },
    /** Says how much owners may keep. */
    limit(quota: Room) {
      room = quota;
    },
    room: (owner: string, bytes: number) => room(owner, bytes),
    /** Who says something: all operators are one. */
    asker: keyOf,
    /** Whether what that owner said is somebody's own words. */
    isAsker: (principal: Principal, owner: string): boolean =>
      [keyOf(principal), ownerKey(principal), ...(viewer(principal).aliases ?? [])].includes(owner),
    /** Whose conversations somebody's are. */
    conversation,
    /** Whether somebody may go on with a conversation of that owner. */
    mayContinue: (principal: Principal, owner: string): boolean =>
      mayContinue(conversation(principal), owner) || viewer(principal).aliases?.includes(owner) === true,
    /** Called when memories of an identity are found to be an account's. */
    onLinked: (move: Adopt) => void adopters.push(move),
    /** Whose memories a turn reads and writes. */
    memory({ principal, sessionId, user = '' }: ScopeRequest): string {
      if (rules().isShared) return operatorScope;
      if (principal.kind === 'agent' && user !== '') return `${ownerKey(principal)}/user:${user}`;
      const owner = keyOf(principal);
      adopt(viewer(principal), owner);
      return memoryOf(owner, sessionId);
    },
  };
}

/**
 * People on a chat or mail surface share the conversations of the surface, as a room has several. The switchboard
 * brings people of all its surfaces and chooses the conversation; paired people have no surface in their id.
 */
function roomOf({ kind, id, via }: Principal): string | undefined {
  const [namespace] = id.split(':');
  const hasAccount = id.startsWith(accountPrefix);
  const isPerson = kind === 'person' || kind === 'approver' || (kind === 'operator' && hasAccount);
  if (!isPerson || namespace === 'voice') return undefined;
  if (via.includes('switchboard')) return 'people:switchboard';
  return hasAccount ? undefined : `people:${namespace}`;
}

/** Whether whoever has these conversations may go on with one of that owner. */
function mayContinue(own: string, owner: string): boolean {
  if (own === owner || (own === 'people:switchboard' && owner.startsWith('people:'))) return true;
  // Before conversations had owners, those of the token were told from those of nobody by their id alone.
  return own === tokenOwner && owner === 'anonymous';
}

export const notYours =
  'This conversation belongs to somebody else. Leave its id out to begin one of your own.';

/**
 * The memories that belong to a conversation of that owner: theirs, or its own where many have the same key. Without a
 * conversation, as on the console, all have what was stored there.
 */
export function memoryOf(owner: string, sessionId: string): string {
  return standsForMany(owner) && sessionId !== '' ? `context:${sessionId}` : owner;
}

/** Whose quota memories of a scope count on. */
export function keeperOf(scope: string): string {
  return isOfOneConversation(scope) ? 'anonymous' : scope.replace(/\/user:.*$/s, '');
}

/** Whoever keeps too much may still delete and shorten. */
export function keepWithin(room: Room, owner: string, bytes: number): void {
  if (bytes <= 0) return;
  const refusal = room(owner, bytes);
  if (refusal !== undefined) throw new StoreError('full', `${refusal}.`);
}

/** Whether no other conversation can ever have the scope. */
export function isOfOneConversation(scope: string): boolean {
  return scope.startsWith('context:');
}

/** Callers that nobody can tell from others: without a key, or with the token that all programs share. */
function standsForMany(owner: string): boolean {
  return owner === 'anonymous' || owner === tokenOwner;
}
