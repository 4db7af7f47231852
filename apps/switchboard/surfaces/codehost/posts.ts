import { createHash } from 'node:crypto';
import { type Bus, escapeSegment, unescapeSegment } from '@trunkline/bus';
import { splitMessage, withoutPictures } from '@trunkline/tools';
import { filesOf } from '../../content/references.ts';
import { fieldsOf, text } from '../../dispatch/request.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/outbox.ts';
import { type CodehostClients, codehostFailure } from './clients.ts';
import type { HookPayload } from './hook-schema.ts';

const prefix = 'message.outbound.codehost';

/**
 * Ends our own comments, so that webhooks about them are not answered. It names the delivery, by which a comment whose
 * answer was lost is found again.
 */
const ownMark = /<!-- trunkline(?: [0-9a-f]+)? -->/;

const longestComment = 65_000;
/** GitHub's clock may be behind ours. */
const clockMarginMs = 5 * 60 * 1000;

type ReviewEvent = 'APPROVE' | 'REQUEST_CHANGES' | 'COMMENT';

/** Posts messages of `message.outbound.codehost.#`. */
export function createPoster(
  clients: CodehostClients,
  bus: Bus,
): (attempt: DeliveryAttempt) => Promise<void> {
  return async (attempt) => {
    const { message } = attempt;
    const address = addressOf(message.topic);
    const fields = fieldsOf(message.payload);
    const given = text(fields.content);
    // Whoever opens the page would fetch them, from an address that text from outside may have shaped.
    const shown = given && message.principal?.origins ? withoutPictures(given) : given;
    const content = [shown, notAttached(filesOf(message.payload))].filter(Boolean).join('\n\n') || undefined;
    if (address === undefined) throw misaddressed(message.topic);
    if (content === undefined) throw new DeliveryError('The message has no content.', { permanent: true });
    const identity = fields.chained === true ? 'chain' : 'reply';
    try {
      const octokit = await clients.of(address.owner, address.repo, identity);
      if (address.review) return await submitReview(octokit, address, content, attempt, bus);
      await writeComments(octokit, address, splitMessage(content, longestComment), attempt);
    } catch (error) {
      throw error instanceof DeliveryError ? error : codehostFailure(error);
    }
  };
}

/** There is no documented way for programs to attach files to a comment. */
function notAttached(files: readonly { name: string }[]): string {
  if (files.length === 0) return '';
  return `(Not attached, as GitHub takes no files from programs: ${files.map(({ name }) => name).join(', ')}.)`;
}

type Octokit = Awaited<ReturnType<CodehostClients['of']>>;

/** What stands on GitHub. */
interface Post {
  id: number;
  body?: string | null;
  html_url: string;
}

/** Whether a text is one of ours. */
export function isOwn(body: string | null | undefined): boolean {
  return ownMark.test(body ?? '');
}

function markOf({ message }: DeliveryAttempt, part: number): string {
  const key = createHash('sha256')
    .update(JSON.stringify([message.id, part]))
    .digest('hex')
    .slice(0, 20);
  return `<!-- trunkline ${key} -->`;
}

/** Writes parts that have not arrived yet; `first` is the number of the first of them within the message. */
async function writeComments(
  octokit: Octokit,
  address: CodehostAddress,
  parts: readonly string[],
  attempt: DeliveryAttempt,
  first = 0,
): Promise<void> {
  const begin = Math.max(0, attempt.done.length - first);
  // An earlier attempt may have arrived without our knowing.
  const standing =
    attempt.isRepeat && begin < parts.length ? await commentsSince(octokit, address, attempt) : [];
  for (const [index, part] of parts.entries()) {
    if (index < begin) continue;
    const mark = markOf(attempt, first + index);
    const written = standing.find(({ body }) => body?.includes(mark));
    const { html_url } =
      written ?? (await writeComment(octokit, address, `${part}\n\n${mark}`, attempt.signal));
    attempt.arrived(html_url);
  }
}

async function commentsSince(
  octokit: Octokit,
  { owner, repo, number, comment }: CodehostAddress,
  { message, signal }: DeliveryAttempt,
): Promise<Post[]> {
  const since = new Date(message.timestamp - clockMarginMs).toISOString();
  const place = { owner, repo, since, per_page: 100, request: { signal } };
  return comment === undefined
    ? await octokit.paginate(octokit.rest.issues.listComments, { ...place, issue_number: number })
    : await octokit.paginate(octokit.rest.pulls.listReviewComments, { ...place, pull_number: number });
}

async function writeComment(
  octokit: Octokit,
  { owner, repo, number, comment }: CodehostAddress,
  body: string,
  signal: AbortSignal,
): Promise<Post> {
  const place = { owner, repo, body, request: { signal } };
  const { data } =
    comment === undefined
      ? await octokit.rest.issues.createComment({ ...place, issue_number: number })
      : await octokit.rest.pulls.createReplyForReviewComment({
          ...place,
          pull_number: number,
          comment_id: comment,
        });
  return data;
}

/** The review is submitted once, whatever fails later; overlong text follows as comments. */
async function submitReview(
  octokit: Octokit,
  address: CodehostAddress,
  content: string,
  attempt: DeliveryAttempt,
  bus: Bus,
): Promise<void> {
  const { owner, repo, number: prNumber } = address;
  const { done, message } = attempt;
  const [opening = '', ...more] = splitMessage(content, longestComment);
  const { event, body } = readVerdict(opening);
  const made =
    done[0] === undefined
      ? await createReview(octokit, address, { event, body }, attempt)
      : { prUrl: done[0] };
  await writeComments(octokit, address, more, attempt, 1);
  await bus.publish({
    topic: 'reviewer.review.submitted',
    payload: { owner, repo, prNumber, event, ...made },
    correlationId: message.correlationId,
    parentId: message.id,
  });
}

async function createReview(
  octokit: Octokit,
  { owner, repo, number }: CodehostAddress,
  { event, body }: { event: ReviewEvent; body: string },
  attempt: DeliveryAttempt,
): Promise<{ reviewId: number; prUrl: string }> {
  const mark = markOf(attempt, 0);
  const place = { owner, repo, pull_number: number, request: { signal: attempt.signal } };
  const standing: Post[] = attempt.isRepeat
    ? await octokit.paginate(octokit.rest.pulls.listReviews, { ...place, per_page: 100 })
    : [];
  const submit = async (): Promise<Post> =>
    (await octokit.rest.pulls.createReview({ ...place, event, body: `${body}\n\n${mark}` })).data;
  const { id, html_url } = standing.find((review) => review.body?.includes(mark)) ?? (await submit());
  attempt.arrived(html_url);
  return { reviewId: id, prUrl: html_url };
}

const verdicts: Record<string, ReviewEvent> = {
  approve: 'APPROVE',
  approved: 'APPROVE',
  'request changes': 'REQUEST_CHANGES',
  'changes requested': 'REQUEST_CHANGES',
  comment: 'COMMENT',
};

/** A first line such as "Verdict: approve" sets the kind of review; default: comment. */
export function readVerdict(content: string): { event: ReviewEvent; body: string } {
  const [, word = '', rest = ''] =
    /^\s*\**verdict:?\**:?\s*(approved?|request changes|changes requested|comment)\**\.?\s*(?:\n([\s\S]*))?$/i.exec(
      content,
    ) ?? [];
  const event = verdicts[word.toLowerCase()];
  if (event === undefined) return { event: 'COMMENT', body: content };
  return { event, body: rest.trim() === '' ? content.trim() : rest.trim() };
}

function misaddressed(topic: string): DeliveryError {
  const words = `${topic} is no place on the code host: use message.outbound.codehost.<owner>.<repo>.<number>, and .review or .comment.<id> behind it.`;
  return new DeliveryError(words, { permanent: true });
}

/** An issue or pull request, a review thread, or a new review. */
interface CodehostAddress {
  owner: string;
  repo: string;
  number: number;
  /** The review comment whose thread it answers. */
  comment?: number;
  review?: boolean;
}

export function topicOf({ owner, repo, number, comment, review }: CodehostAddress): string {
  const place = `${prefix}.${escapeSegment(owner)}.${escapeSegment(repo)}.${number}`;
  if (review) return `${place}.review`;
  return comment === undefined ? place : `${place}.comment.${comment}`;
}

/** Undefined when the topic is no address. */
function addressOf(topic: string): CodehostAddress | undefined {
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

export function inboundTopic(owner: string, repo: string, event: string, number: number): string {
  return `message.inbound.codehost.${escapeSegment(owner)}.${escapeSegment(repo)}.${escapeSegment(event)}.${number}`;
}

export function repoOf({ repository }: HookPayload): { owner: string; repo: string } | undefined {
  return repository && { owner: repository.owner.login, repo: repository.name };
}

/** Whether the text mentions the handle as a whole word, in any case. */
export function mentions(body: string | null | undefined, handle: string | undefined): boolean {
  const name = handle?.replace(/^@/, '').toLowerCase();
  if (!name || !body) return false;
  const called = body.toLowerCase().matchAll(/(?<![\w@/.-])@([a-z0-9][a-z0-9-]*)/g);
  return [...called].some(([, word]) => word === name);
}
