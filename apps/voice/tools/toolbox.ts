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

export class Toolbox {
  readonly #options: ToolboxOptions;

  constructor(options: ToolboxOptions) {
    this.#options = options;
  }

  /** All tools, or those that the skill lists. Of two with one name the first wins. */
  toolsFor(skill: Skill, user: User): Tool[] {
    const all = this.#options.sources.flatMap((source) => source(skill, user));
    const known = new Map(all.toReversed().map((tool) => [tool.name, tool]));
    const offered = [...known.values()].reverse().filter(({ name }) => skill.tools?.includes(name) ?? true);
    if (skill.tools !== undefined && offered.length === 0) this.#warn(skill, [...known.keys()]);
    return offered.map((tool) => counted(tool, this.#options.onCall));
  }

  #warn({ slug, tools }: Skill, known: string[]): void {
    this.#options.logger.warn({ skill: slug, listed: tools, known }, 'skill lists no known tool');
  }
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
