import { createHmac, timingSafeEqual } from 'node:crypto';
import { invalidParams, type SendCommand } from '@trunkline/a2a';
import { HttpError } from '@trunkline/http';
import {
  type AccountAccess,
  decodePrincipal,
  encodePrincipal,
  handedOn,
  type Principal,
  roleOf,
  withOrigins,
} from '@trunkline/identity';
import { actingFor } from '../approvals/approvals.ts';

/** The field of a message under which the asker of a schedule goes to the switchboard and comes back. */
export const askerField = 'on_behalf_of';

interface Job {
  id: string;
  prompt: string;
}

/** Who asked for a job, with what its prompt was drawn from. Good for this very job and prompt alone. */
export function sealAsker(principal: Principal, job: Job, secret: string): string {
  const stated = encodePrincipal(principal);
  return `${stated}.${signatureOf(stated, job, secret)}`;
}

function openAsker(sealed: unknown, job: Job, secret: string): Principal | undefined {
  const [stated = '', given = ''] = typeof sealed === 'string' ? sealed.split('.') : [];
  const [wanted, found] = [signatureOf(stated, job, secret), given].map((text) => Buffer.from(text));
  const isOurs = wanted !== undefined && found?.length === wanted.length && timingSafeEqual(wanted, found);
  return isOurs ? decodePrincipal(stated) : undefined;
}

function signatureOf(stated: string, { id, prompt }: Job, secret: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['schedule', id, prompt, stated]))
    .digest('base64url');
}

/**
 * A run of a schedule that comes back from the switchboard is done for whoever asked for it, with the rights that they
 * have by then, and never in person. What cannot be proven, as the prompt was changed on the way, counts as text from
 * outside.
 */
export function receiveRun(
  command: SendCommand,
  secret: string,
  current: AccountAccess['current'],
): SendCommand {
  const { message, principal } = command;
  const { [askerField]: sealed, ...metadata } = { ...message.metadata, ...command.metadata };
  if (sealed === undefined) return command;
  const { [askerField]: _, ...own } = message.metadata ?? {};
  const plain = { ...command, metadata, message: { ...message, metadata: own } };
  const id = String(metadata.scheduler_job_id);
  // It begins a conversation of its own, and answers nothing.
  const isRun = message.taskId === undefined && message.contextId === undefined;
  const prompt = message.parts.map((part) => (part.type === 'text' ? part.text : undefined)).join('\n');
  const asker =
    isRun && roleOf(principal) !== 'guest' ? openAsker(sealed, { id, prompt }, secret) : undefined;
  if (asker === undefined)
    return { ...plain, principal: withOrigins(principal, [{ kind: 'schedule', source: id }]) };
  const chained = principal.via.reduce(handedOn, actingFor(accountOf(asker, current), 'scheduler'));
  return { ...plain, principal: withOrigins(chained, principal.origins) };
}

function accountOf(asker: Principal, current: AccountAccess['current']): Principal {
  try {
    return current(asker);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw invalidParams(`The schedule was not run: ${error.message}`, 'message.metadata');
  }
}
