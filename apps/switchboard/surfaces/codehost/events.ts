import type { Draft } from '@trunkline/bus';
import { derivedId } from '../../core/messages.ts';
import type { CodehostFile } from '../../workspace/schema/chat.ts';
import { type HookPayload, hookSchema } from './hook-schema.ts';
import { inboundTopic, isOwn, mentions, repoOf, topicOf } from './posts.ts';

export interface EventSettings {
  config: CodehostFile;
  /** Our own logins, in lower case. */
  ownLogins: ReadonlySet<string>;
}

export interface HookEvent {
  name: string;
  /** Stable when the code host sends the delivery again. */
  deliveryId: string;
  payload: unknown;
  arrivedAt: number;
}

/** What can get a reaction. */
export interface Reactable {
  owner: string;
  repo: string;
  kind: 'issue' | 'issue-comment' | 'review-comment';
  id: number;
}

export interface EventOutcome {
  drafts: Draft[];
  /** What to acknowledge. */
  seen?: Reactable;
  /** What the author of the request is to the repository. */
  association?: string | undefined;
}

/** Other events may use the same field names differently. */
const readEvents = new Set([
  'issues',
  'issue_comment',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'release',
  'repository',
]);

/** Messages for agents and signals of a webhook. Throws a ZodError when it is none. */
export function readEvent(event: HookEvent, settings: EventSettings): EventOutcome {
  if (!readEvents.has(event.name)) return { drafts: [] };
  const hook = hookSchema.parse(event.payload);
  const signals = signalsOf(event.name, hook, settings.ownLogins);
  const asked = isOurs(hook, settings) ? undefined : requestOf(event, hook, settings);
  const drafts = [...signals, ...(asked?.drafts ?? [])].map((draft) => withId(draft, event));
  return { drafts, ...(asked?.seen && { seen: asked.seen }), association: asked?.association };
}

function isOurs({ sender, comment }: HookPayload, { ownLogins }: EventSettings): boolean {
  if (isOwn(comment?.body)) return true;
  return sender !== undefined && ownLogins.has(sender.login.toLowerCase());
}

/** Stable, so that a repeated delivery is published once. */
function withId(draft: Draft, { deliveryId }: HookEvent): Draft {
  return { ...draft, id: derivedId(deliveryId, draft.topic) };
}

function requestOf(event: HookEvent, hook: HookPayload, { config }: EventSettings): EventOutcome | undefined {
  if (event.name === 'repository' && hook.action === 'created') return repositoryCreated(hook);
  const asked = askedBy(event.name, hook, config);
  const { comment, issue, pull_request: pull } = hook;
  const { author_association: association } = comment ?? issue ?? pull ?? {};
  const outcome = asked && request(event, hook, asked);
  return outcome && { ...outcome, association };
}

/** What is asked of an agent; undefined for what nobody asked. */
function askedBy(event: string, hook: HookPayload, config: CodehostFile): Asked | undefined {
  const { action, comment, issue, pull_request: pull } = hook;
  const { skillHints, mentionHandle } = config;
  if (event === 'issue_comment' && action === 'created')
    return comment && issue && mentions(comment.body, mentionHandle)
      ? ofIssueComment(comment, issue, skillHints.issue_comment)
      : undefined;
  if (event === 'issues' && action === 'opened')
    return issue && (skillHints.issues !== undefined || mentions(issue.body, mentionHandle))
      ? ofIssue(issue, skillHints.issues)
      : undefined;
  if (event === 'pull_request_review_comment' && action === 'created')
    return comment && pull && mentions(comment.body, mentionHandle)
      ? ofReviewComment(comment, pull, skillHints.pull_request_review_comment)
      : undefined;
  if (event === 'pull_request' && changesCode.has(action ?? ''))
    return pull &&
      !pull.draft &&
      (skillHints.pull_request !== undefined || mentions(pull.body, mentionHandle))
      ? ofPullRequest(pull, skillHints.pull_request)
      : undefined;
  return undefined;
}

const changesCode = new Set(['opened', 'reopened', 'synchronize', 'ready_for_review']);

type Part<Name extends keyof HookPayload> = NonNullable<HookPayload[Name]>;

function ofIssueComment(comment: Part<'comment'>, { number, title }: Part<'issue'>, hint?: string): Asked {
  const seen = { kind: 'issue-comment', id: comment.id } as const;
  return { content: comment.body ?? '', hint, number, title, url: comment.html_url, seen };
}

function ofIssue({ number, title, body, html_url: url }: Part<'issue'>, hint?: string): Asked {
  const content = `Issue #${number}: ${title}\n\n${body ?? ''}`.trim();
  return { content, hint, number, title, url, seen: { kind: 'issue', id: number } };
}

function ofReviewComment(comment: Part<'comment'>, pull: Part<'pull_request'>, hint?: string): Asked {
  const where = comment.path === undefined ? '' : `On ${comment.path}:\n${comment.diff_hunk ?? ''}\n\n`;
  return {
    content: `${where}${comment.body ?? ''}`,
    hint,
    number: pull.number,
    title: pull.title,
    url: comment.html_url,
    sha: pull.head.sha,
    thread: comment.in_reply_to_id ?? comment.id,
    seen: { kind: 'review-comment', id: comment.id },
  };
}

function ofPullRequest(pull: Part<'pull_request'>, hint?: string): Asked {
  const { number, title, html_url: url, head, base, body } = pull;
  const facts = [`${head.ref} into ${base.ref}`, `head ${head.sha}`, url].join(', ');
  const content = `Pull request #${number}: ${title}\n${facts}\n\n${body ?? ''}`.trim();
  const seen = { kind: 'issue', id: number } as const;
  return { content, hint, number, title, url, sha: head.sha, review: true, seen };
}

interface Asked {
  content: string;
  hint: string | undefined;
  number: number;
  title: string;
  url: string;
  sha?: string;
  /** The comment whose thread gets the answer. */
  thread?: number;
  review?: boolean;
  seen: { kind: Reactable['kind']; id: number };
}

function request(
  { name, arrivedAt }: HookEvent,
  hook: HookPayload,
  { content, hint, number, title, url, sha, thread, review, seen }: Asked,
): EventOutcome | undefined {
  const place = repoOf(hook);
  if (place === undefined) return undefined;
  const { owner, repo } = place;
  const author = hook.sender?.login;
  const payload = {
    content,
    ...(hint !== undefined && { skillHint: hint }),
    event: name,
    action: hook.action,
    title,
    url,
    author,
    repo: { owner, repo, number, ...(sha !== undefined && { sha }) },
    arrivedAt,
    systemActor: 'codehost',
  };
  const reply = topicOf({
    owner,
    repo,
    number,
    ...(thread !== undefined && { comment: thread }),
    ...(review && { review }),
  });
  const draft: Draft = {
    topic: inboundTopic(owner, repo, name, number),
    payload: JSON.parse(JSON.stringify(payload)),
    source: {
      interface: 'codehost',
      channelId: `${owner}/${repo}#${number}`,
      ...(author && { userId: author }),
    },
    reply: { topic: reply, format: 'markdown' },
  };
  return { drafts: [draft], seen: { owner, repo, ...seen } };
}

/** Onboards a new repository under its own name. */
function repositoryCreated(hook: HookPayload): EventOutcome | undefined {
  const { repository } = hook;
  if (repository === undefined) return undefined;
  const { full_name: github, name, owner, description, visibility, default_branch } = repository;
  const payload = {
    slug: slugOf(name),
    title: name,
    github,
    ...(default_branch && { defaultBranch: default_branch }),
    full_name: github,
    name,
    owner: owner.login,
    description: description ?? null,
    visibility: visibility ?? null,
  };
  return { drafts: [{ topic: 'message.inbound.onboard', payload, source: { interface: 'codehost' } }] };
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}

/** Signals about reviews and releases; nobody answers these. */
function signalsOf(event: string, hook: HookPayload, ownLogins: ReadonlySet<string>): Draft[] {
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
