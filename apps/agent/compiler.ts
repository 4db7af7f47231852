import type { Logger } from '@trunkline/config';
import type { LiveConfig } from './setup/config-file.ts';
import type { LiveModel } from './setup/live-model.ts';
import { createLoadSkill } from './skills/load-skill.ts';
import type { Skill, SkillShelf } from './skills/skill-shelf.ts';
import type { Toolset } from './toolset.ts';
import { compileGraph } from './turns/graph.ts';
import type { GraphHolder } from './turns/graph-holder.ts';
import { humanTools } from './turns/human-tools.ts';

export interface CompilerOptions {
  agentName: string;
  live: LiveConfig;
  model: LiveModel;
  toolset: Toolset;
  shelf: SkillShelf;
  graph: GraphHolder;
  logger: Logger;
}

/** Makes the agent of the configuration, and makes it anew when the configuration changes. */
export class Compiler {
  readonly #options: CompilerOptions;
  #skills: readonly Skill[] = [];
  #running = Promise.resolve();

  constructor(options: CompilerOptions) {
    this.#options = options;
    options.live.onChange(() => this.again());
  }

  /** The skills as of the last time. */
  get skills(): readonly Skill[] {
    return this.#skills;
  }

  async compile(): Promise<void> {
    const { agentName, live, model, toolset, shelf, graph } = this.#options;
    const { config } = live;
    const skills = await shelf.list();
    const { tools, approvals } = await toolset.open(config);
    const loadSkill = skills.length === 0 ? [] : [createLoadSkill((name) => shelf.find(name))];
    const offered = [...tools, ...loadSkill];
    const { gateway } = model;
    graph.put(compileGraph({ agentName, config, gateway, tools: offered, humanTools, approvals, skills }));
    this.#skills = skills;
  }

  /** Resolves when no change is being put in force any more. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** One after the other, so that the newest configuration is in force in the end. */
  again(): void {
    const { logger } = this.#options;
    this.#running = this.#running
      .then(() => this.compile())
      .then(
        () => logger.info('the configuration changed and is in force'),
        (error: unknown) =>
          logger.error({ err: error }, 'the changed configuration could not be put in force'),
      );
  }
}
