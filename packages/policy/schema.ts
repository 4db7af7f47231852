import { effects } from '@trunkline/llm';
import { z } from 'zod';

const text = z.string().min(1);
const texts = z.union([text, z.array(text).min(1)]).transform((given) => [given].flat());

const ruleSchema = z
  .strictObject({
    /** `operator`, `person`, `person:voice:ava`, a role (`guest`, `role:guest`), or a schedule: `schedule`, `schedule:ID`; `*` stands for any text. */
    principal: texts.optional(),
    /**
     * The service, or the agent of the switchboard, that makes the call. A rule that asks or denies also fits what they
     * handed on.
     */
    agent: texts.optional(),
    tool: texts.optional(),
    /** Fits a call that has one of these effects. */
    effects: z.array(z.enum(effects)).min(1).optional(),
    /** Fits a call whose subject has all of these. */
    arguments: z
      .strictObject({
        path: texts.optional(),
        host: texts.optional(),
        command: texts.optional(),
        recipient: texts.optional(),
      })
      .optional(),
    /** Whether the turn has read text from outside; fits both when left out. */
    taint: z.enum(['tainted', 'clean']).optional(),
    decision: z.enum(['allow', 'ask', 'deny']),
    reason: text.optional(),
  })
  .refine(({ decision: _decision, reason: _reason, ...conditions }) => Object.keys(conditions).length > 0, {
    message: 'a rule needs a condition: principal, agent, tool, effects, arguments or taint',
  });

const budgetSchema = z
  .strictObject({
    principal: texts.optional(),
    /** What an agent hands on counts on its budget too. */
    agent: texts.optional(),
    /** Tool calls an hour. */
    calls: z.int().min(0).optional(),
    /** Calls an hour that send something. */
    messages: z.int().min(0).optional(),
    /** Dollars an hour for models. */
    usd: z.number().min(0).optional(),
  })
  .refine(({ calls, messages, usd }) => [calls, messages, usd].some((limit) => limit !== undefined), {
    message: 'a budget needs a limit: calls, messages or usd, each an hour',
  });

/** `policy.yaml`. */
export const policySchema = z
  .strictObject({
    /** The first that fits decides. */
    rules: z.array(ruleSchema).default([]),
    /** Hosts that may be read after outside text; `*.example.com` stands for all below. */
    hosts: z.array(text).default([]),
    agents: z
      .record(
        text,
        z.strictObject({
          /** `relaxed`: outside text changes nothing for this agent. Whoever writes that text then uses its tools. */
          taint: z.enum(['strict', 'relaxed']).default('strict'),
          /** `relaxed`: after outside text it may hand work to our own services and agents without a question. */
          delegation: z.enum(['strict', 'relaxed']).optional(),
          /** A call that had begun when the process was killed: a person is asked, or it fails with words. */
          interrupted: z.enum(['ask', 'fail']).optional(),
        }),
      )
      .default({}),
    /** Texts of MCP servers and agents about themselves that the operator has accepted, by their SHA-256. */
    descriptions: z
      .record(text, z.array(z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256')))
      .default({}),
    /** Each that fits counts for itself; a call needs room in all of them. */
    budgets: z.array(budgetSchema).default([]),
  })
  .prefault({});

export type PolicyConfig = z.output<typeof policySchema>;
export type Rule = PolicyConfig['rules'][number];
export type Budget = PolicyConfig['budgets'][number];
