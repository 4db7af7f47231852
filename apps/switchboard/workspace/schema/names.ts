import { checkPattern, checkTopic, matchesTopic } from '@trunkline/bus';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { guardedPart, isGuardedTopic } from '../../access/caller.ts';

/** They name files and appear in topics. */
export const entryName = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/, 'expected letters, digits, - and _, at most 64');

export const scheduleId = z
  .string()
  .max(128, 'expected at most 128 characters')
  .regex(
    /^[a-z0-9][a-z0-9-]{0,63}(\.[a-z0-9][a-z0-9-]{0,63})*$/,
    'expected small letters, digits and -, with dots between parts',
  );

export const topic = z.string().superRefine(passes(checkTopic));

/** A pattern without the topics that routes publish, with which a route would never end, and those of the cluster. */
export const trigger = z.string().superRefine((text, context) => {
  passes(checkPattern)(text, context);
  if (context.issues.length === 0 && matchesTopic(text, 'agent.skill.request')) {
    const message = `${text} takes in agent.skill.request, which routes themselves publish; choose a narrower topic`;
    context.addIssue({ code: 'custom', message });
  } else if (text.startsWith('cluster.')) {
    const message = `${text} is for switchboards that greet each other; routes do not run on cluster.#, choose another topic`;
    context.addIssue({ code: 'custom', message });
  }
});

export const answerTopic = topic.superRefine((text, context) => {
  if (!isGuardedTopic(text)) return;
  const message = `the answer of an agent never goes to ${text}; choose a topic such as message.outbound.cli`;
  context.addIssue({ code: 'custom', message });
});

export const agentPattern = z.string().superRefine((text, context) => {
  passes(checkPattern)(text, context);
  const guarded = context.issues.length === 0 ? guardedPart(text) : undefined;
  if (guarded === undefined) return;
  const message = `${text} takes in topics of ${guarded}, to which agents never publish; choose a narrower pattern`;
  context.addIssue({ code: 'custom', message });
});

export function passes(check: (text: string) => unknown) {
  return (text: string, context: z.core.$RefinementCtx<string>) => {
    try {
      check(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: errorMessage(error) });
    }
  };
}
