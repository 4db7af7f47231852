import { type Accounts, createSenders, nameOnSurface, type Sender } from '@trunkline/accounts';
import type { Draft, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import {
  accountIdOf,
  accountPrincipal,
  type Principal,
  quotaKey,
  type Role,
  roleOf,
} from '@trunkline/identity';
import { BoundedMap } from '@trunkline/std';
import type { Quota } from '@trunkline/storage';
import { namedSender, principalOf } from '../core/messages.ts';
import type { SkillExecutor } from '../dispatch/executor.ts';
import { type Dispatch, fieldsOf, text } from '../dispatch/request.ts';
import type { Workspace } from '../workspace/workspace.ts';

interface SurfaceSenderOptions extends Omit<Parameters<typeof createSenders>[0], 'trustPage'> {
  accounts: Pick<Accounts, 'byIdentity' | 'get' | 'requestPairing'>;
  workspace: Pick<Workspace, 'agents' | 'externalAgents' | 'approvers' | 'channels' | 'routes' | 'cloud'>;
  /** Address of this service. */
  url(): string;
  /** What everybody has sent today, through whatever door. */
  sent: Quota;
  logger: Pick<Logger, 'warn'>;
}

/** What a surface knows about a sender beside the draft. */
export interface SurfaceSender extends Pick<Sender, 'identity' | 'isListed' | 'isProven'> {
  /** Senders can be forged, as in mail: the place proves nothing about them, and operators are only members there. */
  isForgeable?: boolean;
}

/** Why a request is not handed to its agent. */
export interface SenderRefusal {
  why: string;
  /** What the sender is told; undefined when they were told lately. */
  notice: string | undefined;
}

export type SurfaceSenders = ReturnType<typeof createSurfaceSenders>;

const MAX_REFUSED = 1000;
const today = () => new Date().toISOString().slice(0, 10);

/** Who writes on the chat and mail surfaces, and which agents they reach. */
export function createSurfaceSenders({ workspace, url, sent, logger, ...options }: SurfaceSenderOptions) {
  const { accounts } = options;
  /** The day on which the log last named a sender who is over their quota. */
  const refused = new BoundedMap<string, string>(MAX_REFUSED);
  const senders = createSenders({ ...options, trustPage: () => `${url().replace(/\/+$/, '')}/trust` });

  /** Stamps the sender as principal. */
  function stamp(draft: Draft, { identity, isListed, isProven = true, isForgeable }: SurfaceSender): Draft {
    const as = namedSender(draft);
    const isTrusted = isListed || workspace.approvers().includes(as.id) || trustsMembers(draft);
    const principal = senders.identify({
      identity,
      as,
      isListed: isTrusted && !isForgeable,
      isProven,
    });
    return { ...draft, principal: isForgeable ? lowered(principal) : principal };
  }

  /** The operator wrote into `channels.yaml` that everybody who can write there counts as a member. */
  function trustsMembers(draft: Pick<Draft, 'source'>): boolean {
    return channelsOf(draft).some(({ trustMembers }) => trustMembers === true);
  }

  function channelsOf({ source }: Pick<Draft, 'source'>) {
    const { interface: surface, channelId } = source ?? {};
    return workspace.channels().filter((each) => each.platform === surface && each.channelId === channelId);
  }

  /** The operator put an agent behind a label of mail: by a skill, a route for exactly this topic, or in `channels.yaml`. */
  function isNamedLabel(draft: Pick<Draft, 'topic' | 'source'>): boolean {
    const { interface: surface, channelId } = draft.source ?? {};
    if (surface !== 'cloud') return false;
    return (
      channelsOf(draft).length > 0 ||
      workspace.routes().some(({ enabled, when }) => enabled && when.topic === draft.topic) ||
      (workspace.cloud()?.gmail.routingRules ?? []).some(
        ({ label }) => label.toLowerCase() === channelId?.toLowerCase(),
      )
    );
  }

  /** Guests reach public agents, and those that the operator has put behind a label of mail; none has effects for them. */
  function refusalOf(dispatch: Dispatch, { agent, isPublic }: SkillExecutor): SenderRefusal | undefined {
    const principal = principalOf(dispatch.message);
    if (roleOf(principal) !== 'guest') return undefined;
    if (accountOf(principal)?.disabled) {
      const why = `the account of ${principal.id} is disabled`;
      return { why, notice: noticeFor(dispatch, principal) };
    }
    if (isPublic) return undefined;
    const topic = text(fieldsOf(dispatch.routing).topic) ?? '';
    if (isNamedLabel({ topic, source: dispatch.message.source })) return undefined;
    if (accountIdOf(principal) !== undefined) {
      const why = `guests may talk to public agents only, and ${agent} is none; ask the operator to make you a member`;
      return { why, notice: `Error: ${why}` };
    }
    const why = `${principal.id} is not paired, and the agent ${agent} is not public`;
    return { why, notice: noticeFor(dispatch, principal) };
  }

  /** Whether files that come with a message are fetched: those of guests only where an agent could read them. */
  function takesFiles(draft: Draft): boolean {
    const principal = principalOf(draft);
    if (roleOf(principal) !== 'guest') return true;
    if (accountOf(principal)?.disabled) return false;
    const agents = [...workspace.agents(), ...workspace.externalAgents()];
    return isNamedLabel(draft) || agents.some(({ public: isPublic }) => isPublic);
  }

  /**
   * Counts what a message adds to the journal and the histories. False: its sender has sent too much today, and it is
   * dropped. Where a sender can be forged, those without an account count as one.
   */
  function takes(draft: Draft, { isForgeable = false }: Pick<SurfaceSender, 'isForgeable'> = {}): boolean {
    const principal = principalOf(draft);
    const isStranger = isForgeable && accountIdOf(principal) === undefined;
    const key = quotaKey(isStranger ? { ...principal, role: 'guest' } : principal);
    const refusal = sent.refusal(key, Buffer.byteLength(JSON.stringify(draft.payload)));
    if (refusal !== undefined && refused.get(key) !== today()) {
      refused.set(key, today());
      logger.warn({ surface: draft.source?.interface, refusal }, 'message dropped: sender is over quota');
    }
    return refusal === undefined;
  }

  function accountOf(principal: Principal) {
    const id = accountIdOf(principal);
    return id === undefined ? accounts.byIdentity(principal.id) : accounts.get(id);
  }

  /**
   * Whose words an old message holds, as they are known now: a stranger may be paired, an account disabled. An account
   * gains no rights that it did not have then.
   */
  function currentSender(message: Pick<Message, 'principal' | 'payload'>): Principal {
    const then = principalOf(message);
    const isStranger = accountIdOf(then) === undefined;
    if (isStranger && (roleOf(then) !== 'guest' || fieldsOf(message.payload).proven === false)) return then;
    const account = accountOf(then);
    if (account === undefined || account.disabled)
      return isStranger ? then : { ...then, kind: 'person', role: 'guest' };
    const known = accountPrincipal(account.id, account.role);
    if (isStranger) return then.id.startsWith('mail:') ? lowered(known) : known;
    const hadLess = roles.indexOf(roleOf(then)) < roles.indexOf(account.role);
    return hadLess ? then : { ...then, ...known, via: then.via };
  }

  function noticeFor({ message }: Dispatch, { id, via }: Principal): string | undefined {
    const { author, name, direct, proven, awaitsReply } = fieldsOf(message.payload);
    if (via.length > 0 || proven === false) return undefined;
    if (direct !== true && proven !== true) return senders.pointer(id, awaitsReply === true);
    return senders.notice(id, text(author) ?? text(name) ?? id);
  }

  return { stamp, takes, refusalOf, takesFiles, currentSender };
}

/** For the operator, on the surface that OPERATOR_TOPIC names. What a stranger calls themselves is a quotation. */
export function pairingRequest(identity: string, display: string) {
  const content = `Somebody unknown asks to be paired: ${identity}, who goes by ${JSON.stringify(display)}. Look at the page "Trust", or run "npx trunkline users". Approve only if they give you their code themselves.`;
  return { topic: 'operator.message.request', payload: { content, urgency: 'normal' } };
}

/** All names of a person, as `approvers.yaml` writes them. */
export function namesOnSurfaces(principal: Principal, accounts: Pick<Accounts, 'get'>): readonly string[] {
  const accountId = accountIdOf(principal);
  const account = accountId === undefined ? undefined : accounts.get(accountId);
  return [principal.id, ...(account?.identities ?? []).map(nameOnSurface)];
}

/** From the least rights to the most. */
const roles: readonly Role[] = ['guest', 'member', 'operator', 'owner'];

function lowered(principal: Principal): Principal {
  return principal.kind === 'operator' ? { ...principal, kind: 'person', role: 'member' } : principal;
}
