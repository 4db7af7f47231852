import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, parseYaml } from '@trunkline/config';
import { writeFileAtomic } from '@trunkline/storage';
import { stringify } from 'yaml';
import { z } from 'zod';

export interface SkillHead {
  name: string;
  description: string;
  /** The only tools of a turn that follows the skill; all when left out. */
  tools?: string[] | undefined;
}

export interface Skill extends SkillHead {
  /** The instructions. */
  body: string;
}

const headSchema = z.strictObject({
  name: z.string().min(1),
  description: z.string().default(''),
  tools: z.array(z.string()).optional(),
});

/** A skill with the folder it is stored in. */
export interface StoredSkill extends Skill {
  slug: string;
  enabled: boolean;
}

const largestSkill = 200_000;

/** A name as a folder's name: small letters, digits and dashes. */
export function skillSlug(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60);
}

/** Skills as folders with a SKILL.md: read when they are asked for, so that an edit counts at once. */
export class SkillRepository {
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

  /** All that can be read, those that are switched off too. */
  async all(): Promise<StoredSkill[]> {
    const slugs = await this.#slugs();
    const skills = await Promise.all(slugs.map(async (slug) => ({ slug, skill: await this.#read(slug) })));
    return skills.flatMap(({ slug, skill }) =>
      skill === undefined ? [] : [{ ...skill, slug, enabled: !this.#isDisabled(skill.name) }],
    );
  }

  /** Keeps a skill in a folder, in place of the one that is there. */
  async write(slug: string, { body, ...head }: Skill): Promise<void> {
    const directory = join(this.#directory, slug);
    await mkdir(directory, { recursive: true });
    await writeFileAtomic(join(directory, 'SKILL.md'), `---\n${stringify(head)}---\n\n${body}\n`);
  }

  /** Says whether there was one. */
  async remove(slug: string): Promise<boolean> {
    if (!(await this.#slugs()).includes(slug)) return false;
    await rm(join(this.#directory, slug), { recursive: true });
    return true;
  }

  async #slugs(): Promise<string[]> {
    const entries = await readdir(this.#directory, { withFileTypes: true }).catch((error: unknown) => {
      this.#logger.warn({ err: error }, 'failed to read skills');
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
      this.#logger.warn({ err: error, file }, 'failed to read skill');
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
