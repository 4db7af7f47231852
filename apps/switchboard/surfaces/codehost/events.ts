import type { Draft } from '@trunkline/bus';
import { z } from 'zod';
import { derivedId } from '../../core/messages.ts';
import type { CodehostFile } from '../../workspace/schema/chat.ts';
import { type HookPayload, hookSchema } from './hook-schema.ts';
import { inboundTopic, mentions, ownMark, repoOf, topicOf } from './posts.ts';
import { signalsOf } from './signals.ts';

export interface EventSettings {
  config: CodehostFile;
  /** Logins under which we write ourselves, in lower case. */
  ownLogins: ReadonlySet<string>;
}

export interface HookEvent {
  name: string;
  /** The id that the code host gives to a delivery; the same when it is sent again. */
  deliveryId: string;
  payload: unknown;
  arrivedAt: number;
}

/** What can be marked as seen: the path of its reactions. */
export interface Reactable {
  owner: string;
  repo: string;
  kind: 'issue' | 'issue-comment' | 'review-comment';
  id: number;
}

export interface EventOutcome {
  drafts: Draft[];
  /** What is accepted, to be marked so. */
  seen?: Reactable;
}

/** Other events may give fields of the same names another shape. */
const readEvents = new Set([
  'issues',
  'issue_comment',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'release',
  'repository',
]);

/** What a webhook means: messages for agents, signals for learners, or nothing. */
export function readEvent(event: HookEvent, settings: EventSettings): EventOutcome {
  if (!readEvents.has(event.name)) return { drafts: [] };
  const parsed = hookSchema.safeParse(event.payload);
  if (!parsed.success) throw new HookError(z.prettifyError(parsed.error));
  const hook = parsed.data;
  const signals = signalsOf(event.name, hook, settings.ownLogins);
  const asked = isOurs(hook, settings) ? undefined : requestOf(event, hook, settings);
  const drafts = [...signals, ...(asked?.drafts ?? [])].map((draft) => withId(draft, event));
  return { drafts, ...(asked?.seen && { seen: asked.seen }) };
}

/** A body that is JSON but no webhook. */
export class HookError extends Error {}

function isOurs({ sender, comment }: HookPayload, { ownLogins }: EventSettings): boolean {
  if (comment?.body?.includes(ownMark)) return true;
  return sender !== undefined && ownLogins.has(sender.login.toLowerCase());
}

/** The same for a delivery that is sent again, so that the bus takes it once. */
function withId(draft: Draft, { deliveryId }: HookEvent): Draft {
  return { ...draft, id: derivedId(deliveryId, draft.topic) };
}

function requestOf(event: HookEvent, hook: HookPayload, settings: EventSettings): EventOutcome | undefined {
  const { action } = hook;
  if (event.name === 'issue_comment' && action === 'created') return issueComment(event, hook, settings);
  if (event.name === 'issues' && action === 'opened') return issueOpened(event, hook, settings);
  if (event.name === 'pull_request_review_comment' && action === 'created')
    return reviewComment(event, hook, settings);
  if (event.name === 'pull_request' && changesCode.has(action ?? ''))
    return pullRequest(event, hook, settings);
  if (event.name === 'repository' && action === 'created') return repositoryCreated(hook);
  return undefined;
}

const changesCode = new Set(['opened', 'reopened', 'synchronize', 'ready_for_review']);

function issueComment(
  event: HookEvent,
  hook: HookPayload,
  { config }: EventSettings,
): EventOutcome | undefined {
  const { comment, issue } = hook;
  if (comment === undefined || issue === undefined || !mentions(comment.body, config.mentionHandle))
    return undefined;
  const hint = config.skillHints.issue_comment;
  return request(event, hook, {
    content: comment.body ?? '',
    hint,
    number: issue.number,
    title: issue.title,
    url: comment.html_url,
    seen: { kind: 'issue-comment', id: comment.id },
  });
}

function issueOpened(
  event: HookEvent,
  hook: HookPayload,
  { config }: EventSettings,
): EventOutcome | undefined {
  const { issue } = hook;
  const hint = config.skillHints.issues;
  if (issue === undefined || (hint === undefined && !mentions(issue.body, config.mentionHandle)))
    return undefined;
  const content = `Issue #${issue.number}: ${issue.title}\n\n${issue.body ?? ''}`.trim();
  const seen = { kind: 'issue' as const, id: issue.number };
  return request(event, hook, {
    content,
    hint,
    number: issue.number,
    title: issue.title,
    url: issue.html_url,
    seen,
  });
}

function reviewComment(
  event: HookEvent,
  hook: HookPayload,
  { config }: EventSettings,
): EventOutcome | undefined {
  const { comment, pull_request: pull } = hook;
  if (comment === undefined || pull === undefined || !mentions(comment.body, config.mentionHandle))
    return undefined;
  const where = comment.path === undefined ? '' : `On ${comment.path}:\n${comment.diff_hunk ?? ''}\n\n`;
  return request(event, hook, {
    content: `${where}${comment.body ?? ''}`,
    hint: config.skillHints.pull_request_review_comment,
    number: pull.number,
    title: pull.title,
    url: comment.html_url,
    sha: pull.head.sha,
    thread: comment.in_reply_to_id ?? comment.id,
    seen: { kind: 'review-comment', id: comment.id },
  });
}

function pullRequest(
  event: HookEvent,
  hook: HookPayload,
  { config }: EventSettings,
): EventOutcome | undefined {
  const { pull_request: pull } = hook;
  const hint = config.skillHints.pull_request;
  if (pull === undefined || pull.draft || (hint === undefined && !mentions(pull.body, config.mentionHandle)))
    return undefined;
  const facts = [`${pull.head.ref} into ${pull.base.ref}`, `head ${pull.head.sha}`, pull.html_url];
  const content =
    `Pull request #${pull.number}: ${pull.title}\n${facts.join(', ')}\n\n${pull.body ?? ''}`.trim();
  return request(event, hook, {
    content,
    hint,
    number: pull.number,
    title: pull.title,
    url: pull.html_url,
    sha: pull.head.sha,
    review: true,
    seen: { kind: 'issue', id: pull.number },
  });
}

interface Asked {
  content: string;
  hint: string | undefined;
  number: number;
  title: string;
  url: string;
  sha?: string;
  /** The comment whose thread the answer goes to. */
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

/** A new repository is brought online under its own name. */
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
