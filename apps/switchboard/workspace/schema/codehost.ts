import { z } from 'zod';

const skill = z.string().min(1).optional();

/** `codehost.yaml`: whom a mention calls, and which skill each kind of event asks for. */
export const codehostSchema = z
  .strictObject({
    /** Compared without regard to case, with or without an @. */
    mentionHandle: z.string().min(1).optional(),
    skillHints: z
      .strictObject({
        issue_comment: skill,
        issues: skill,
        pull_request_review_comment: skill,
        pull_request: skill,
      })
      .prefault({}),
  })
  .prefault({});

export type CodehostFile = z.output<typeof codehostSchema>;
