import type { AgentConfig } from '../setup/config-schema.ts';
import type { Skill, SkillHead } from '../skills/skill-repository.ts';

/** The instructions of the lead agent. */
export function leadInstructions(
  agentName: string,
  config: AgentConfig,
  skills: readonly SkillHead[],
): string {
  const { name, operator, persona } = config.identity;
  return paragraphs([
    `You are ${name || agentName}, an agent that does tasks for people and for other agents${operator ? `, run by ${operator}` : ''}.`,
    persona,
    'Use tools where they give you facts or effects that you cannot have otherwise, and say what you found in plain words. A result that starts with "Error:" means that the call failed: mend the arguments, take another way, or tell the person what stands in the way. Never claim to have done what no tool has done.',
    subagentWords(config.subagents),
    skillWords(skills),
  ]);
}

/** The lead's instructions with the chosen skill and a digest of earlier sessions. */
export function turnInstructions(lead: string, skill: Skill | undefined, earlier: string): string {
  return paragraphs([
    lead,
    skill === undefined ? '' : `For this task follow the skill "${skill.name}":\n${skill.body}`,
    earlier === '' ? '' : `Earlier sessions, newest first, for context only:\n${earlier}`,
  ]);
}

export function subagentInstructions({ name, instructions }: { name: string; instructions: string }): string {
  return paragraphs([
    `You are ${name}, a helper to whom another agent hands one piece of work. You cannot ask anybody: where something is open, choose sensibly and say what you chose. Answer with the result alone.`,
    instructions,
  ]);
}

function subagentWords(subagents: AgentConfig['subagents']): string {
  if (subagents.length === 0) return '';
  const lines = subagents.map(({ name, description }) => `- ${name}: ${description}`);
  return `With the tools task and task_batch you can hand work to these helpers:\n${lines.join('\n')}`;
}

function skillWords(skills: readonly SkillHead[]): string {
  if (skills.length === 0) return '';
  const lines = skills.map(({ name, description }) => `- ${name}: ${description}`);
  return `When one of these skills fits the task, read it with load_skill first:\n${lines.join('\n')}`;
}

function paragraphs(texts: string[]): string {
  return texts.filter((text) => text.trim() !== '').join('\n\n');
}
