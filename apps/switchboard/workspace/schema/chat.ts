import { z } from 'zod';
import { passes } from './names.ts';

/** A blank entry of a file counts as none. */
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
