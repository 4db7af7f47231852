import { hash } from 'node:crypto';
import type { Draft } from '@trunkline/bus';
import {
  anonymous,
  handedOn,
  ownerKey,
  type Principal,
  readPrincipal,
  scheduleName,
  withOrigins,
} from '@trunkline/identity';
import { guest } from '../access/caller.ts';

interface Asked {
  readonly principal?: Principal | undefined;
}

export function principalOf({ principal }: Asked): Principal {
  return principal === undefined ? anonymous : readPrincipal(principal);
}

/** Who may see a message, and what follows from it: whoever it was sent for. */
export function ownerOfMessage(message: Asked): string {
  return ownerKey(principalOf(message));
}

/** Whoever owns something, as the principal of messages about it; never in person. */
export function onBehalfOf(owner: string, by: string): Principal {
  const [kind = '', ...id] = owner.split(':');
  const known = { kind, id: id.join(':') || kind, via: [] } as unknown as Principal;
  return handedOn(readPrincipal(known), by);
}

/** The principal for what an agent does with a message: the same one, no longer in person. */
export function onBehalf(asked: Asked, by: string): Principal {
  return handedOn(principalOf(asked), by);
}

/** Whom the surface names as the sender. */
export function namedSender({ source }: Draft): Principal {
  const { interface: surface = 'surface', userId = 'unknown' } = source ?? {};
  return { kind: 'person', id: `${surface}:${userId}`, via: [] };
}

/** Stamps what a webhook or a calendar brings: anybody may have written the text, whoever signed the delivery. */
export function fromOutside(draft: Draft): Draft {
  const sender = namedSender(draft);
  return { ...draft, principal: withOrigins(sender, [{ kind: 'message', source: sender.id }]) };
}

/**
 * A schedule has at most the rights of its maker: the operator, a person, a key, or nobody. Names of keys have no colon.
 * What another service had scheduled for the operator has nobody's rights.
 */
export function scheduled(id: string, owner: string | undefined): Principal {
  const own = scheduleName(id);
  if (owner === undefined) return { kind: 'schedule', id: own, via: [] };
  if (owner.startsWith('person:')) return onBehalfOf(owner, own);
  if (owner === guest.name || owner.includes(':')) return handedOn(anonymous, own);
  return handedOn({ kind: 'agent', id: `key:${owner}`, via: [] }, own);
}

/** For messages about a schedule: theirs who made it without a key. What keys and the operator made is for all. */
export function aboutSchedule(owner: string | undefined): Pick<Draft, 'principal'> {
  return owner?.includes(':') ? { principal: onBehalfOf(owner, 'scheduler') } : {};
}

/** A stable id for what follows from a message, so that redelivery publishes it once. */
export function derivedId(messageId: string, purpose: string): string {
  return hash('sha256', `${purpose} ${messageId}`).slice(0, 32);
}

/** A UUID out of a hash in hexadecimal, of the version and variant that its receiver knows it by. */
export function uuidOf(hash: string, version: string, variant: string): string {
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, `$1-$2-${version}$3-${variant}$4-$5`);
}
