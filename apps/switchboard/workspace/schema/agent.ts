import { z } from 'zod';
import { agentPattern, entryName } from './names.ts';

const agentTools = [
  'publish_event',
  'get_projects',
  'get_incidents',
  'report_incident',
  'get_ceremonies',
  'run_ceremony',
] as const;

const skillSchema = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  /** Case-insensitive parts of a message that lead to this skill. */
  keywords: z.array(z.string().min(1)).default([]),
  systemPromptOverride: z.string().optional(),
});

/** `agents/<name>.yaml`: an agent that runs in this process. */
export const agentSchema = z
  .strictObject({
    name: entryName,
    role: z.enum(['orchestrator', 'qa', 'devops', 'content', 'research', 'general']),
    /** The gateway's own model when not given. */
    model: z.string().min(1).optional(),
    systemPrompt: z.string(),
    tools: z.array(z.enum(agentTools)).default([]),
    /** Topics that publish_event may publish to; none when not given. */
    publishes: z.array(agentPattern).default([]),
    /** Lets it ask to run commands (run_command); each waits for an approval. */
    runCommand: z.boolean().default(false),
    canDelegate: z.array(entryName).default([]),
    /** Calls of the model in one turn; -1 sets no limit. */
    maxTurns: z.union([z.literal(-1), z.int().min(1)]).default(20),
    chatBotTokenEnvKey: z.string().min(1).optional(),
    skills: z.array(skillSchema).default([]),
  })
  .superRefine(({ role, canDelegate }, context) => {
    if (role === 'orchestrator' || canDelegate.length === 0) return;
    const message = `only an orchestrator may delegate, and this agent's role is ${role}`;
    context.addIssue({ code: 'custom', path: ['canDelegate'], message });
  });

export type AgentDefinition = z.output<typeof agentSchema>;
