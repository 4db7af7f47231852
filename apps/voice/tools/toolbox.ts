import type { Logger } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import type { Skill } from '../skills/skill.ts';
import type { User } from '../users/user.ts';

type ToolSource = (skill: Skill, user: User) => readonly Tool[];

export interface ToolboxOptions {
  sources: readonly ToolSource[];
  onCall(name: string): void;
  logger: Logger;
}

export type ToolsFor = (skill: Skill, user: User) => Tool[];

/** Gives all tools, or those that the skill lists. Of two with one name the first wins. */
export function createToolbox({ sources, onCall, logger }: ToolboxOptions): ToolsFor {
  return (skill, user) => {
    const all = sources.flatMap((source) => source(skill, user));
    const known = new Map(all.toReversed().map((tool) => [tool.name, tool]));
    const offered = [...known.values()].reverse().filter(({ name }) => skill.tools?.includes(name) ?? true);
    if (skill.tools !== undefined && offered.length === 0)
      logger.warn(
        { skill: skill.slug, listed: skill.tools, known: [...known.keys()] },
        'skill lists no known tool',
      );
    return offered.map((tool) => counted(tool, onCall));
  };
}

function counted(tool: Tool, onCall: (name: string) => void): Tool {
  if (tool.pause) return tool;
  return {
    ...tool,
    execute(input, context) {
      onCall(tool.name);
      return tool.execute(input, context);
    },
  };
}
