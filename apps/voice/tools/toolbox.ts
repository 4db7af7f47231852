import type { Logger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import type { Interruption, Tool } from '@trunkline/llm';
import {
  createCalculator,
  createCurrentTime,
  createDelegateTo,
  createFetchUrl,
  createLookUp,
  createSearchEngine,
  createWebSearch,
} from '@trunkline/tools';
import type { DelegateRepository } from '../delegates/repository.ts';
import type { VoiceOptions } from '../options.ts';
import type { Skill } from '../skills/skill.ts';
import type { User } from '../users/user.ts';

type ToolSource = (skill: Skill, user: User, sender?: Principal) => readonly Tool[];

export interface ToolboxOptions {
  sources: readonly ToolSource[];
  onCall(name: string): void;
  logger: Logger;
}

/** `sender` is who writes, where it is no call. */
export type ToolsFor = (skill: Skill, user: User, sender?: Principal) => Tool[];

/** Gives all tools, or those that the skill lists. Of two with one name the first wins. */
export function createToolbox({ sources, onCall, logger }: ToolboxOptions): ToolsFor {
  return (skill, user, sender) => {
    const all = sources.flatMap((source) => source(skill, user, sender));
    const known = new Map(all.toReversed().map((tool) => [tool.name, tool]));
    const offered = [...known.values()].reverse().filter(({ name }) => skill.tools?.includes(name) ?? true);
    if (skill.tools !== undefined && offered.length === 0)
      logger.warn(
        { skill: skill.slug, listed: skill.tools, known: [...known.keys()] },
        'skill lists no known tool',
      );
    const interruptions = skill.behavior.interruptions ?? {};
    return offered.map((tool) => withInterruption(counted(tool, onCall), interruptions[tool.name]));
  };
}

/** The skill knows best what may be interrupted. */
function withInterruption(tool: Tool, interruption: Interruption | undefined): Tool {
  return tool.pause || interruption === undefined ? tool : { ...tool, interruption };
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

/** Tools that every session has. */
export function sharedTools(options: VoiceOptions): Tool[] {
  const { fetchAllowedHosts, fetchAllowedCidrs } = options;
  return [
    createCurrentTime(),
    createCalculator(),
    createLookUp(),
    createWebSearch(createSearchEngine(options)),
    createFetchUrl({ allowedHosts: fetchAllowedHosts, allowedCidrs: fetchAllowedCidrs }),
  ];
}

/** The tool is built for each session, so that it names the delegates of that moment. */
export function delegation(
  repository: DelegateRepository,
  user: User,
  allowed: readonly string[] | undefined,
): Tool[] {
  const delegates = repository.delegatesFor(user.id, allowed);
  return delegates.length === 0 ? [] : [createDelegateTo({ delegates })];
}
