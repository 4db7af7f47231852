/**
 * - `operator`: showed the operator's key; may configure, execute and approve.
 * - `person`: somebody with a key of their own (a voice user), or an identity on a chat surface.
 * - `approver`: a chat identity that the operator paired; may approve, not configure.
 * - `agent`: a program with a service's token or a scoped key.
 * - `schedule`: a schedule of the switchboard that nobody else made, with the id `schedule:ID`. One that somebody made acts
 *   for them and stands in the chain under that name, see `schedulesOf`.
 * - `service`: one of our own services that acts for itself.
 * - `anonymous`: nobody known. Has only what a service without a key gives to everybody.
 */
export type PrincipalKind =
  | 'operator'
  | 'person'
  | 'approver'
  | 'agent'
  | 'schedule'
  | 'service'
  | 'anonymous';

/**
 * What somebody may do in the whole installation.
 *
 * - `owner`: everything, and appoints operators.
 * - `operator`: configures, executes and approves.
 * - `member`: uses agents, tools and their own things.
 * - `guest`: talks to public agents; no tool with effects.
 */
export type Role = 'owner' | 'operator' | 'member' | 'guest';

/** On whose behalf something is done. */
export interface Principal {
  readonly kind: PrincipalKind;
  /** Unique within its kind, with the namespace that knows it: `voice:ava`, `chat:1234`, `key:ci`. */
  readonly id: string;
  /** The services that handed the request on, the first one first. Empty: the principal itself is calling. */
  readonly via: readonly string[];
  /** Missing: what the kind implies, see `roleOf`. */
  readonly role?: Role;
  /**
   * What the words of the request were drawn from beyond the operator's trust. Wherever the principal goes (tasks,
   * delegations, bus messages, schedules), this goes too. Missing: they are the principal's own.
   */
  readonly origins?: readonly Origin[];
  /**
   * Owners whose things are theirs too: what the identities of an account made before they were linked to it. A service
   * adds them for its own look-ups; they do not travel.
   */
  readonly aliases?: readonly string[];
}

/** Carries the principal of a request between our own services. Counts only beside the service token. */
export const principalHeader = 'x-trunkline-principal';

export const anonymous: Principal = { kind: 'anonymous', id: 'anonymous', via: [] };

const KINDS: ReadonlySet<string> = new Set<PrincipalKind>([
  'operator',
  'person',
  'approver',
  'agent',
  'schedule',
  'service',
  'anonymous',
]);
/** The highest first. */
const ROLES: ReadonlySet<string> = new Set<Role>(['owner', 'operator', 'member', 'guest']);
const ACCOUNT_PREFIX = 'user:';
const MAX_VIA = 16;
const MAX_ENCODED = 4096;

/** The principal as the next service sees it when this one hands the request on. */
export function handedOn(principal: Principal, by: string): Principal {
  return { ...principal, via: [...principal.via, by].slice(-MAX_VIA) };
}

const SCHEDULE_PREFIX = 'schedule:';

/** How a schedule is named: as a principal of its own, and in the chain of whoever it runs for. */
export function scheduleName(id: string): string {
  return SCHEDULE_PREFIX + id;
}

/** The schedules that started what is done, by name. Nobody calls in person then. */
export function schedulesOf({ kind, id, via }: Principal): string[] {
  const started = via.filter((name) => name.startsWith(SCHEDULE_PREFIX));
  return kind === 'schedule' ? [id, ...started] : started;
}

/** Whether nobody stands behind it: a service or a schedule that acts for itself never approves anything. */
export function actsForItself({ kind }: Principal): boolean {
  return kind === 'service' || kind === 'schedule';
}

/** A principal that was stored or signed when schedules were services with the id `schedule:ID`. */
export function readPrincipal(stored: Principal): Principal {
  const isSchedule = stored.kind === 'service' && stored.id.startsWith(SCHEDULE_PREFIX);
  return isSchedule ? { ...stored, kind: 'schedule' } : stored;
}

/** How rules and the audit log name somebody: `person:user:ava`, `schedule:tea`. */
export function principalName({ kind, id }: Pick<Principal, 'kind' | 'id'>): string {
  return kind === 'schedule' ? id : `${kind}:${id}`;
}

/** The principal of words that were drawn from these origins as well. */
export function withOrigins(principal: Principal, origins: readonly Origin[] | undefined): Principal {
  if (origins === undefined || origins.length === 0) return principal;
  return { ...principal, origins: joinOrigins(principal.origins, origins) };
}

/**
 * Whether the operator is calling in person. What was handed on by a service may have passed a model on its way,
 * so it never approves anything.
 */
export function isDirectOperator({ kind, via }: Principal): boolean {
  return kind === 'operator' && via.length === 0;
}

/** The id of the account that a principal is; undefined for everybody else. */
export function accountIdOf({ id }: Principal): string | undefined {
  return id.startsWith(ACCOUNT_PREFIX) ? id.slice(ACCOUNT_PREFIX.length) : undefined;
}

/** The principal of an account, the same through every door. */
export function accountPrincipal(accountId: string, role: Role): Principal {
  return { kind: kindOf(role), id: ACCOUNT_PREFIX + accountId, via: [], role };
}

function kindOf(role: Role): PrincipalKind {
  return role === 'owner' || role === 'operator' ? 'operator' : 'person';
}

/** Somebody with an account of this installation who calls in person. */
export function isDirectAccount(principal: Principal): boolean {
  return principal.via.length === 0 && accountIdOf(principal) !== undefined;
}

/** A principal without a stated role is the operator or a member: what a service lets in without a key may work there. */
export function roleOf({ kind, role }: Principal): Role {
  return role ?? (kind === 'operator' ? 'operator' : 'member');
}

/** The principal with this role, if it is less than theirs. */
export function atMost(principal: Principal, role: Role): Principal {
  if (rank(role) <= rank(roleOf(principal))) return principal;
  return { ...principal, kind: kindOf(role), role };
}

/** 0 for the highest role. */
function rank(role: Role): number {
  return [...ROLES].indexOf(role);
}

/**
 * What is stored as the owner of a task, a conversation, a file: `person:user:ava`, `agent:a2a`; `operator` and
 * `anonymous` for those. An approver is a person whose word counts for more. A schedule's is what was stored when it was a
 * service, so that it still has what it had.
 */
export function ownerKey({ kind, id }: Principal): string {
  if (kind === 'schedule') return `service:${id}`;
  if (kind === 'anonymous' || kind === id) return kind;
  return `${kind === 'approver' ? 'person' : kind}:${id}`;
}

/**
 * Whose quota a thing counts on: its owner's. Guests without an account share one on each surface (`person:mail:*`), as a
 * stranger can have as many addresses there as they like.
 */
export function quotaKey(principal: Principal): string {
  if (roleOf(principal) !== 'guest' || accountIdOf(principal) !== undefined) return ownerKey(principal);
  return `person:${principal.id.split(':', 1)[0]}:*`;
}

/**
 * Whether somebody may see a thing with this owner: their own, what belongs to nobody (no owner: it was stored before
 * owners were), and the operator all.
 */
export function maySee(principal: Principal, owner: string | undefined): boolean {
  if (principal.kind === 'operator' || owner === undefined || owner === 'anonymous') return true;
  return owner === ownerKey(principal) || principal.aliases?.includes(owner) === true;
}

/**
 * `maySee` for lists in SQL: a condition on the column `owner`, and its values. The column is not null; what nobody owns
 * has `anonymous`.
 */
export function ownerFilter(principal: Principal): { sql: string; values: readonly string[] } {
  if (principal.kind === 'operator') return { sql: 'TRUE', values: [] };
  const values = [ownerKey(principal), ...(principal.aliases ?? [])];
  return { sql: `owner IN ('anonymous', ${values.map(() => '?').join(', ')})`, values };
}

/** As a header value. Where not all origins fit, fewer are named; at least one stays. */
export function encodePrincipal({ kind, id, via, role, origins }: Principal): string {
  const encoded = (named: Principal['origins']) =>
    Buffer.from(JSON.stringify({ kind, id, via, role, origins: named })).toString('base64url');
  for (let count = origins?.length ?? 0; count > 0; count -= 1) {
    const text = encoded(origins?.slice(0, count));
    if (text.length <= MAX_ENCODED) return text;
  }
  return encoded(origins && origins.length > 0 ? [{ kind: 'message', source: '' }] : origins);
}

/** Undefined for anything that `encodePrincipal` did not write. */
export function decodePrincipal(text: string): Principal | undefined {
  if (text.length > MAX_ENCODED) return undefined;
  try {
    const {
      kind,
      id,
      via,
      role,
      origins: stated,
    } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const origins = stated === undefined ? undefined : parseOrigins(stated);
    const isValid =
      KINDS.has(kind) &&
      typeof id === 'string' &&
      (kind !== 'schedule' || id.startsWith(SCHEDULE_PREFIX)) &&
      Array.isArray(via) &&
      via.every((by) => typeof by === 'string') &&
      (role === undefined || ROLES.has(role)) &&
      (stated === undefined || origins !== undefined);
    if (!isValid || via.length > MAX_VIA) return undefined;
    return readPrincipal({
      ...{ kind, id, via },
      ...(role && { role }),
      ...(origins && origins.length > 0 && { origins }),
    });
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Where a text came from that the operator does not vouch for. */
export interface Origin {
  /** What brought it: the name of a tool, or `message` for the words of somebody unknown. */
  readonly kind: string;
  /** An address, a sender, an agent; empty where there is nothing to name. */
  readonly source: string;
}

const MAX_ORIGINS = 8;
const MAX_KIND = 64;
const MAX_SOURCE = 120;

/** All of them, each once. The first ones are named; that there is one is what counts. */
export function joinOrigins(...lists: readonly (readonly Origin[] | undefined)[]): readonly Origin[] {
  const joined = new Map<string, Origin>();
  for (const { kind, source } of lists.flatMap((list) => list ?? [])) {
    const origin = { kind: kind.slice(0, MAX_KIND), source: source.slice(0, MAX_SOURCE) };
    if (joined.size < MAX_ORIGINS) joined.set(`${origin.kind} ${origin.source}`, origin);
  }
  return [...joined.values()];
}

/** "fetch_url https://example.com/, message mail:eve@example.com" */
export function describeOrigins(origins: readonly Origin[]): string {
  return origins.map(({ kind, source }) => (source === '' ? kind : `${kind} ${source}`)).join(', ');
}

/** What `JSON.parse` gave of a list of origins; undefined if it is none. */
export function parseOrigins(value: unknown): readonly Origin[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const isValid = value.every(
    (origin) => typeof origin?.kind === 'string' && typeof origin?.source === 'string',
  );
  return isValid ? joinOrigins(value) : undefined;
}
