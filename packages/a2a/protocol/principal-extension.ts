import { defineErrors } from '@trunkline/http';
import {
  type Principal,
  type PrincipalCheck,
  type SignedPrincipal,
  signPrincipal,
} from '@trunkline/identity';
import { canonicalJson } from '@trunkline/std';
import type { Message, Metadata, Part } from './model.ts';

/**
 * On whose behalf a message is sent, inside of the message: signed with the token between our services, and bound to the
 * receiver and to what the message says. docs/a2a.md specifies it.
 */
export const principalExtension = 'urn:trunkline:a2a:principal-v1';

/** Set by the server kit where it knows the token between services. */
export type CheckPrincipal = (given: unknown, message: string) => PrincipalCheck;

const errors = defineErrors({
  principal_refused: [
    401,
    (refused: { reason: string }) =>
      `The principal of the message (metadata ${principalExtension}) is refused: ${refused.reason}.`,
  ],
  principal_missing: [
    401,
    `A service asks for nobody: neither the header X-Trunkline-Principal nor the message (metadata ${principalExtension}) says on whose behalf.`,
  ],
});

type Content = Pick<Message, 'messageId' | 'taskId' | 'contextId' | 'parts'>;

interface Sender {
  /** The token between services, the name of this one, and of the one that is asked. */
  peer: { token: string; name: string; to: string };
  now: number;
}

/** The metadata that a message carries for one of our services. */
export function principalMetadata(
  principal: Principal,
  content: Content,
  metadata: Metadata,
  { peer, now }: Sender,
): Record<typeof principalExtension, SignedPrincipal> {
  const subject = { to: peer.to, message: subjectOf(content, metadata) };
  return { [principalExtension]: signPrincipal(principal, subject, { token: peer.token, now }) };
}

export interface ReceivedMessage {
  message: Message;
  /** Of the request, which counts before that of the message. */
  metadata: Metadata;
  /** On whose behalf the message says that it is sent; undefined where it does not say. */
  principal: Principal | undefined;
}

/**
 * Checks what a message says of its principal, and takes it out: it counts once, and is for nobody else to read. Where the
 * headers say the same (`isNamed`), a claim that only clocks speak against is left aside.
 */
export function receivePrincipal(
  message: Message,
  metadata: Metadata,
  { checkPrincipal: check, isNamed }: { checkPrincipal: CheckPrincipal | undefined; isNamed: boolean },
): ReceivedMessage {
  if (message.metadata?.[principalExtension] === undefined && metadata[principalExtension] === undefined)
    return { message, metadata, principal: undefined };
  const { [principalExtension]: given, ...own } = message.metadata ?? {};
  const { [principalExtension]: ofRequest, ...rest } = metadata;
  const received = { message: { ...message, metadata: own }, metadata: rest };
  // A service without peers cannot tell who signed it, and asks for a key as ever.
  if (check === undefined) return { ...received, principal: undefined };
  const checked = check(given ?? ofRequest, subjectOf(message, { ...own, ...rest }));
  if ('principal' in checked) return { ...received, principal: checked.principal };
  if (checked.isUntimely && isNamed) return { ...received, principal: undefined };
  throw errors.principal_refused({ reason: checked.refusal });
}

/** For a service that showed the token between services and has not said for whom it asks. */
export function requirePrincipal(): never {
  throw errors.principal_missing();
}

/** For a message to a service that needs a key, on behalf of somebody who showed none. */
export function refuseNobody(): never {
  throw errors.principal_refused({ reason: 'it names somebody who showed no key; this service needs one' });
}

/** The same for either version and every transport, which order and spell fields in their own ways. */
function subjectOf({ messageId, taskId, contextId, parts }: Content, metadata: Metadata): string {
  const said = parts.map(contentOf);
  return canonicalJson([messageId, taskId ?? '', contextId ?? '', said, metadata]);
}

/** Names and types of files are not part of it: gRPC of 0.3 loses them. */
function contentOf(part: Part): unknown[] {
  if (part.type === 'text') return ['text', part.text];
  if (part.type === 'data') return ['data', part.data];
  return part.bytes === undefined ? ['file', part.uri] : ['bytes', part.bytes];
}
