import { escapeSegment } from '@trunkline/bus';
import type { HookPayload } from './hook-schema.ts';

export function inboundTopic(owner: string, repo: string, event: string, number: number): string {
  return `message.inbound.codehost.${escapeSegment(owner)}.${escapeSegment(repo)}.${escapeSegment(event)}.${number}`;
}

export function repoOf({ repository }: HookPayload): { owner: string; repo: string } | undefined {
  return repository && { owner: repository.owner.login, repo: repository.name };
}

/** Whether the text calls the handle: as a word of its own, without regard to case. */
export function mentions(body: string | null | undefined, handle: string | undefined): boolean {
  const name = handle?.replace(/^@/, '').toLowerCase();
  if (!name || !body) return false;
  const called = body.toLowerCase().matchAll(/(?<![\w@/.-])@([a-z0-9][a-z0-9-]*)/g);
  return [...called].some(([, word]) => word === name);
}
