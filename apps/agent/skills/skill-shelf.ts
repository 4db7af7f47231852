import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, parseYaml } from '@trunkline/config';
import { z } from 'zod';

export interface SkillHead {
  name: string;
  description: string;
  /** The only tools of a turn that follows the skill; all when left out. */
  tools?: string[] | undefined;
}

export interface Skill extends SkillHead {
  /** What the agent is told to do. */
  body: string;
}

const headSchema = z.strictObject({
  name: z.string().min(1),
  description: z.string().default(''),
  tools: z.array(z.string()).optional(),
});

const largestSkill = 200_000;

/** Skills as folders with a SKILL.md: read when they are asked for, so that an edit counts at once. */
export class SkillShelf {
  readonly #directory: string;
  readonly #logger: Logger;

  readonly #isDisabled: (name: string) => boolean;

  constructor(directory: string, logger: Logger, isDisabled: (name: string) => boolean = () => false) {
    this.#directory = directory;
    this.#logger = logger;
    this.#isDisabled = isDisabled;
  }

  /** Those that can be used; one that cannot is named in the log. */
  async list(): Promise<Skill[]> {
    const skills = await Promise.all((await this.#slugs()).map((slug) => this.#read(slug)));
    return skills.filter((skill) => skill !== undefined).filter(({ name }) => !this.#isDisabled(name));
  }

  /** By the name in its head or by the name of its folder. */
  async find(name: string): Promise<Skill | undefined> {
    const inFolder = (await this.#slugs()).includes(name) ? await this.#read(name) : undefined;
    if (inFolder !== undefined && !this.#isDisabled(inFolder.name)) return inFolder;
    return (await this.list()).find((skill) => skill.name === name);
  }

  async #slugs(): Promise<string[]> {
    const entries = await readdir(this.#directory, { withFileTypes: true }).catch((error: unknown) => {
      this.#logger.warn({ err: error }, 'the skills cannot be read');
      return [];
    });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  }

  async #read(slug: string): Promise<Skill | undefined> {
    const file = join(this.#directory, slug, 'SKILL.md');
    try {
      const { size } = await stat(file);
      if (size > largestSkill) throw new Error(`it is larger than ${largestSkill} bytes`);
      return parseSkill(await readFile(file, 'utf8'), file);
    } catch (error) {
      this.#logger.warn({ err: error, file }, 'a skill cannot be used');
      return undefined;
    }
  }
}

/** A head between lines of three dashes, then the text. */
function parseSkill(text: string, file: string): Skill {
  const [, head, body] = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---\r?\n?([\s\S]*)$/.exec(text) ?? [];
  if (head === undefined || body === undefined) {
    throw new Error(`${file} has no head: begin it with ---, name and description, and --- again`);
  }
  return { ...parseYaml(head, headSchema, { file, expand: false }), body: body.trim() };
}
