import { z } from 'zod';

const user = z.object({ login: z.string() });

const text = z.string().nullish();

const repository = z.object({
  name: z.string().min(1),
  full_name: z.string().min(1),
  owner: user,
  description: text,
  visibility: text,
  default_branch: text,
});

/** What the author is to the repository: OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE and others. */
const author_association = z.string().optional();

const issue = z.object({
  number: z.int(),
  title: z.string(),
  body: text,
  html_url: z.string(),
  author_association,
});

const pull = z.object({
  number: z.int(),
  title: z.string(),
  body: text,
  html_url: z.string(),
  draft: z.boolean().default(false),
  merged: z.boolean().nullish(),
  merge_commit_sha: text,
  user: user.nullish(),
  author_association,
  head: z.object({ ref: z.string(), sha: z.string() }),
  base: z.object({ ref: z.string() }),
});

const comment = z.object({
  id: z.int(),
  body: text,
  html_url: z.string(),
  path: z.string().optional(),
  diff_hunk: z.string().optional(),
  in_reply_to_id: z.int().optional(),
  user: user.nullish(),
  author_association,
});

const review = z.object({
  id: z.int(),
  state: z.string(),
  body: text,
  html_url: z.string(),
  user: user.nullish(),
});

const release = z.object({
  tag_name: z.string(),
  name: text,
  body: text,
  html_url: z.string(),
  prerelease: z.boolean().default(false),
});

/** The fields of a webhook that are read. */
export const hookSchema = z.object({
  action: z.string().optional(),
  repository: repository.optional(),
  sender: user.optional(),
  issue: issue.optional(),
  pull_request: pull.optional(),
  comment: comment.optional(),
  review: review.optional(),
  release: release.optional(),
});

export type HookPayload = z.output<typeof hookSchema>;
