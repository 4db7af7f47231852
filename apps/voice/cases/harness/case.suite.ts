import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { interruptions } from '@trunkline/llm';
import { parse } from 'yaml';
import { z } from 'zod';
import { verbosityLevels } from '../../skills/skill.ts';

const duration = z.number().int().min(0);

/** A recording of a person, as a microphone hears it. `austen` comes with the sources, others from Debian's packages. */
const recording = z.strictObject({
  recording: z.string(),
  /** A part of it, in milliseconds. */
  from: duration.default(0),
  to: duration.optional(),
  noise: z.enum(['hiss', 'babble', 'music', 'kitchen']).optional(),
  /** How much softer the noise is. */
  decibels: z.number().default(10),
  room: z.boolean().default(false),
  telephone: z.boolean().default(false),
  gain: z.number().positive().default(1),
});

export type RecordedSpeech = z.output<typeof recording>;

/** One thing that the caller does, or that happens to them. */
const step = z.union([
  /** Says something; the next step follows at once. */
  z.strictObject({ say: z.string() }),
  z.strictObject({ play: recording }),
  z.strictObject({ cough: duration }),
  /** The room makes a noise. */
  z.strictObject({ noise: duration }),
  z.strictObject({ pause: duration }),
  /** Waits until the other side has spoken for that long. */
  z.strictObject({ hear: duration }),
  /** Waits until the other side has nothing more to say. */
  z.strictObject({ listen: z.literal('to the end') }),
  z.strictObject({ mute: z.boolean() }),
  z.strictObject({ write: z.string() }),
  /** Something comes from outside. */
  z.strictObject({
    notification: z.strictObject({
      from: z.string(),
      text: z.string(),
      policy: z.enum(['now', 'next_silence', 'when_asked']).default('next_silence'),
    }),
  }),
  z.strictObject({ hang_up: z.literal(true) }),
  z.strictObject({ call_again: z.literal(true) }),
]);

const answer = z.strictObject({
  to: z.string().optional(),
  result_of: z.string().optional(),
  text: z.string().optional(),
  tool: z.string().optional(),
  after: duration.optional(),
  every: duration.optional(),
  fails: z.boolean().optional(),
});

const caseSchema = z.strictObject({
  /** What it proves. */
  about: z.string(),
  /**
   * `code`: words as readable sound, at once. `local`: the real models, where they are installed. `recorded`: the same with
   * recordings that are fetched, so that only `npm run voice:cases` plays them.
   */
  voices: z.enum(['code', 'local', 'recorded']).default('code'),
  verbosity: z.enum(verbosityLevels).default('brief'),
  /** The skill's language. */
  lang: z.string().optional(),
  half_duplex: z.boolean().default(false),
  behavior: z
    .strictObject({
      backchannel: z.boolean(),
      micro_ack: z.boolean(),
      bargein: z.boolean(),
      greeting: z.string(),
      reprompt_after: z.number(),
    })
    .partial()
    .default({}),
  /** What is played comes back through the microphone. */
  echo: z.boolean().default(false),
  recognition: duration.optional(),
  synthesis: duration.optional(),
  model: z.array(answer),
  tools: z
    .record(
      z.string(),
      z.strictObject({
        takes: duration,
        result: z.string(),
        interruption: z.enum(interruptions).optional(),
      }),
    )
    .default({}),
  caller: z.array(step).min(1),
  expect: z.strictObject({
    /** The conversation as both sides heard it. A bot line that ends in -- was cut off. */
    conversation: z.array(z.string()),
    /** With real models: the share of words of a line that may be misheard. */
    wrong: z.number().min(0).max(1).default(0.2),
    /** The longest silence between the end of the caller's words and the first sound of the answer. */
    silence: duration.optional(),
    /** The longest time from the first sound of a caller who speaks over the bot until it sends no more. */
    yields: duration.optional(),
    /** How often the bot stopped to listen and went on. */
    pauses: z.number().int().optional(),
    /** Answers that were begun and thrown away. */
    thrown_away: z.number().int().optional(),
    /** How often tools ran. */
    runs: z.number().int().optional(),
    /** What the conversation remembers of what the bot said. */
    remembered: z.array(z.string()).optional(),
    /** Notification that still wait for the next call. */
    waiting: z.number().int().optional(),
  }),
});

export type VoiceCase = z.output<typeof caseSchema>;
export type Step = VoiceCase['caller'][number];

const directory = join(import.meta.dirname, '..');

/** Every file beside the harness is a case. */
export function loadCases(): { name: string; test: VoiceCase }[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => ({ name: file.replace(/\.yaml$/, ''), test: readCase(join(directory, file)) }));
}

function readCase(path: string): VoiceCase {
  const parsed = caseSchema.safeParse(parse(readFileSync(path, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(`${path} is no case: ${z.prettifyError(parsed.error)}`);
}
