import { escapeSegment, unescapeSegment } from '@trunkline/bus';

/** Where on the code host an answer goes: below an issue or pull request, into a thread of a review, or as a review. */
export interface CodehostAddress {
  owner: string;
  repo: string;
  number: number;
  /** The comment of a review whose thread it answers. */
  comment?: number;
  review?: boolean;
}

const prefix = 'message.outbound.codehost';

export function topicOf({ owner, repo, number, comment, review }: CodehostAddress): string {
  const place = `${prefix}.${escapeSegment(owner)}.${escapeSegment(repo)}.${number}`;
  if (review) return `${place}.review`;
  return comment === undefined ? place : `${place}.comment.${comment}`;
}

/** Undefined when the topic is no address. */
export function addressOf(topic: string): CodehostAddress | undefined {
  if (!topic.startsWith(`${prefix}.`)) return undefined;
  const [owner = '', repo = '', count = '', kind, id = ''] = topic.slice(prefix.length + 1).split('.');
  const number = Number(count);
  if (owner === '' || repo === '' || !Number.isInteger(number) || number <= 0) return undefined;
  const place = { owner: unescapeSegment(owner), repo: unescapeSegment(repo), number };
  if (kind === undefined) return place;
  if (kind === 'review') return { ...place, review: true };
  return kind === 'comment' && Number.isInteger(Number(id)) && id !== ''
    ? { ...place, comment: Number(id) }
    : undefined;
}
