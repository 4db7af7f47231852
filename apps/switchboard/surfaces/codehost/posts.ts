import type { Bus } from '@trunkline/bus';
import { splitMessage } from '@trunkline/tools';
import { fieldsOf, text } from '../../dispatch/request.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/delivery.ts';
import { addressOf, type CodehostAddress } from './address.ts';
import { type CodehostClients, codehostFailure } from './clients.ts';

/** Stands in everything we write, so that a webhook that brings it back is not answered. */
export const ownMark = '<!-- trunkline -->';

const longestComment = 65_000;

type ReviewEvent = 'APPROVE' | 'REQUEST_CHANGES' | 'COMMENT';

/** Writes what a message on `message.outbound.codehost.#` says to where its topic points. */
export function createPoster(
  clients: CodehostClients,
  bus: Bus,
): (attempt: DeliveryAttempt) => Promise<void> {
  return async (attempt) => {
    const { message, done } = attempt;
    const address = addressOf(message.topic);
    const fields = fieldsOf(message.payload);
    const content = text(fields.content);
    if (address === undefined) throw misaddressed(message.topic);
    if (content === undefined) throw new DeliveryError('The message has no content.', { permanent: true });
    const identity = fields.chained === true ? 'chain' : 'reply';
    try {
      const octokit = await clients.of(address.owner, address.repo, identity);
      if (address.review) return await submitReview(octokit, address, content, attempt, bus);
      for (const part of splitMessage(content, longestComment).slice(done.length)) {
        attempt.arrived(await writeComment(octokit, address, part, attempt.signal));
      }
    } catch (error) {
      throw error instanceof DeliveryError ? error : codehostFailure(error);
    }
  };
}

type Octokit = Awaited<ReturnType<CodehostClients['of']>>;

async function writeComment(
  octokit: Octokit,
  { owner, repo, number, comment }: CodehostAddress,
  part: string,
  signal: AbortSignal,
): Promise<string> {
  const body = `${part}\n\n${ownMark}`;
  const request = { signal };
  if (comment === undefined) {
    const { data } = await octokit.rest.issues.createComment({
      owner,
      repo,
      issue_number: number,
      body,
      request,
    });
    return data.html_url;
  }
  const { data } = await octokit.rest.pulls.createReplyForReviewComment({
    owner,
    repo,
    pull_number: number,
    comment_id: comment,
    body,
    request,
  });
  return data.html_url;
}

/** Once, whatever fails behind it; what is too long for it follows as comments. */
async function submitReview(
  octokit: Octokit,
  address: CodehostAddress,
  content: string,
  attempt: DeliveryAttempt,
  bus: Bus,
): Promise<void> {
  const { owner, repo, number: prNumber } = address;
  const { done, message, signal } = attempt;
  const [opening = '', ...more] = splitMessage(content, longestComment);
  const { event, body } = readVerdict(opening);
  const made =
    done[0] === undefined
      ? await createReview(octokit, address, { event, body }, attempt)
      : { prUrl: done[0] };
  for (const part of more.slice(Math.max(0, done.length - 1))) {
    attempt.arrived(await writeComment(octokit, address, part, signal));
  }
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
  { arrived, signal }: DeliveryAttempt,
): Promise<{ reviewId: number; prUrl: string }> {
  const { data } = await octokit.rest.pulls.createReview({
    owner,
    repo,
    pull_number: number,
    event,
    body: `${body}\n\n${ownMark}`,
    request: { signal },
  });
  arrived(data.html_url);
  return { reviewId: data.id, prUrl: data.html_url };
}

const verdicts: Record<string, ReviewEvent> = {
  approve: 'APPROVE',
  approved: 'APPROVE',
  'request changes': 'REQUEST_CHANGES',
  'changes requested': 'REQUEST_CHANGES',
  comment: 'COMMENT',
};

/** A first line such as "Verdict: approve" decides what kind of review it is; without one it is a comment. */
export function readVerdict(content: string): { event: ReviewEvent; body: string } {
  const [, word = '', rest = ''] =
    /^\s*\**verdict:?\**:?\s*([a-z ]+?)\**\.?\s*(?:\n([\s\S]*))?$/i.exec(content) ?? [];
  const event = verdicts[word.toLowerCase()];
  if (event === undefined) return { event: 'COMMENT', body: content };
  return { event, body: rest.trim() === '' ? content.trim() : rest.trim() };
}

function misaddressed(topic: string): DeliveryError {
  const words = `${topic} is no place on the code host: use message.outbound.codehost.<owner>.<repo>.<number>, and .review or .comment.<id> behind it.`;
  return new DeliveryError(words, { permanent: true });
}
