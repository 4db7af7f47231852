import { z } from 'zod';
import { passes } from './names.ts';

const skill = z.string().min(1).optional();

/** `codehost.yaml`: whom a mention calls, and which skill each kind of event asks for. */
export const codehostSchema = z
  .strictObject({
    /** Case-insensitive, with or without @. */
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

const minutes = z.number().positive().max(1440);

/** `cloud.yaml`: folders, calendar and mail of the cloud suite. */
export const cloudSchema = z
  .strictObject({
    drive: z
      .strictObject({ orgFolderId: z.string().default(''), templateFolderId: z.string().optional() })
      .prefault({}),
    calendar: z
      .strictObject({ orgCalendarId: z.string().default(''), pollIntervalMinutes: minutes.default(5) })
      .prefault({}),
    gmail: z
      .strictObject({
        watchLabels: z.array(z.string().min(1)).default([]),
        pollIntervalMinutes: minutes.default(5),
        routingRules: z
          .array(z.strictObject({ label: z.string().min(1), skillHint: z.string().min(1) }))
          .default([]),
      })
      .prefault({}),
  })
  .prefault({});

const channelId = z.string().default('');

const commandOption = z.strictObject({
  name: z.string().min(1),
  description: z.string().min(1),
  type: z.enum(['string', 'integer', 'boolean']).default('string'),
  required: z.boolean().default(false),
  autocomplete: z.boolean().default(false),
});

const subcommand = z.strictObject({
  name: z.string().min(1),
  description: z.string().min(1),
  /** Sent as `payload.content`. */
  content: z.string(),
  skillHint: z.string().min(1).optional(),
  options: z.array(commandOption).default([]),
});

const command = z.strictObject({
  name: z.string().min(1),
  description: z.string().min(1),
  subcommands: z.array(subcommand).default([]),
});

const moderation = z
  .strictObject({
    rateLimit: z
      .strictObject({ maxMessages: z.int().positive(), windowSeconds: z.int().positive() })
      .optional(),
    spamPatterns: z.array(z.string().superRefine(passes((text) => new RegExp(text, 'i')))).default([]),
  })
  .prefault({});

/** `chat.yaml`: channels, moderation and slash commands of the chat platform. */
export const chatSchema = z
  .strictObject({
    channels: z.strictObject({ digest: channelId, welcome: channelId, modLog: channelId }).prefault({}),
    moderation,
    commands: z.array(command).default([]),
  })
  .prefault({});

export type ChatFile = z.output<typeof chatSchema>;

export type CloudFile = z.output<typeof cloudSchema>;

export type CodehostFile = z.output<typeof codehostSchema>;
