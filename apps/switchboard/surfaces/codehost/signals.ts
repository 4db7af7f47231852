import type { Draft } from '@trunkline/bus';
import type { HookPayload } from './hook-schema.ts';
import { repoOf } from './posts.ts';

/** Signals about reviews and releases; nobody answers these. */
export function signalsOf(event: string, hook: HookPayload, ownLogins: ReadonlySet<string>): Draft[] {
  const place = repoOf(hook);
  if (place === undefined) return [];
  const signal =
    released(event, hook) ??
    merged(event, hook) ??
    replied(event, hook, ownLogins) ??
    dismissed(event, hook, ownLogins);
  return signal === undefined
    ? []
    : [{ topic: signal.topic, payload: { ...place, ...signal.payload }, source: { interface: 'codehost' } }];
}

interface Signal {
  topic: string;
  payload: Record<string, unknown>;
}

/** Published by a person, the API or a workflow. */
function released(event: string, { action, release }: HookPayload): Signal | undefined {
  if (event !== 'release' || action !== 'published' || release === undefined) return undefined;
  const { tag_name: tag, name, body, html_url: url, prerelease } = release;
  return {
    topic: 'release.published',
    payload: { tag, name: name ?? tag, notes: body ?? '', url, prerelease },
  };
}

function merged(event: string, { action, pull_request: pull, sender }: HookPayload): Signal | undefined {
  if (event !== 'pull_request' || action !== 'closed' || !pull?.merged) return undefined;
  const { number: prNumber, title, html_url: prUrl, merge_commit_sha: sha } = pull;
  return {
    topic: 'review.pr.merged',
    payload: { prNumber, title, prUrl, sha: sha ?? null, mergedBy: sender?.login ?? null },
  };
}

/** A reply in a review thread, except our own. */
function replied(event: string, hook: HookPayload, ownLogins: ReadonlySet<string>): Signal | undefined {
  const { action, comment, pull_request: pull, sender } = hook;
  if (event !== 'pull_request_review_comment' || action !== 'created') return undefined;
  if (comment?.in_reply_to_id === undefined || pull === undefined) return undefined;
  if (sender !== undefined && ownLogins.has(sender.login.toLowerCase())) return undefined;
  return {
    topic: 'review.comment.replied',
    payload: {
      prNumber: pull.number,
      commentId: comment.in_reply_to_id,
      replyId: comment.id,
      body: comment.body ?? '',
      author: sender?.login ?? null,
      url: comment.html_url,
    },
  };
}

/** A person dismissed our verdict. */
function dismissed(event: string, hook: HookPayload, ownLogins: ReadonlySet<string>): Signal | undefined {
  const { action, review, pull_request: pull, sender } = hook;
  if (event !== 'pull_request_review' || action !== 'dismissed') return undefined;
  if (review === undefined || pull === undefined) return undefined;
  if (!ownLogins.has(review.user?.login.toLowerCase() ?? '')) return undefined;
  return {
    topic: 'review.verdict.dismissed',
    payload: {
      prNumber: pull.number,
      reviewId: review.id,
      dismissedBy: sender?.login ?? null,
      url: review.html_url,
    },
  };
}
