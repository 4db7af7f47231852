import { basename, join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { describeRoute } from '@trunkline/http';
import { type Clock, systemClock } from '@trunkline/schedule';
import { errorMessage, limitBody } from '@trunkline/std';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { Poller } from '../core/timers.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { reportError } from '../workspace/problems.ts';

export interface Project {
  id: string;
  name: string;
  slug: string;
  /** In the file system. */
  path: string;
  github?: { owner: string; repo: string };
  defaultBranch: string;
}

export interface ProjectDirectory {
  list(): readonly Project[];
}

const repository = z.union([z.string(), z.object({ owner: z.string(), repo: z.string() })]);

const entry = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  name: z.string().min(1).optional(),
  slug: z.string().min(1).optional(),
  path: z.string().optional(),
  github: repository.nullish(),
  defaultBranch: z.string().min(1).optional(),
});

/** The list alone, or under `projects` at one of these places. */
const answer = z.union([
  z.array(entry),
  z.looseObject({ projects: z.array(entry) }).transform(({ projects }) => projects),
  z
    .looseObject({ settings: z.looseObject({ projects: z.array(entry) }) })
    .transform(({ settings }) => settings.projects),
  z.looseObject({ data: z.looseObject({ projects: z.array(entry) }) }).transform(({ data }) => data.projects),
]);

export type ProjectSource = (signal: AbortSignal) => Promise<unknown>;

export interface RegistryState {
  projects: readonly Project[];
  /** In milliseconds since 1970; null before the first time. */
  readAt: number | null;
  /** Why the last poll failed. */
  error: string | null;
}

const pollEveryMs = 5 * 60_000;
const timeoutMs = 15_000;
const largestBytes = 20 * 1024 * 1024;

/** Polls the projects every five minutes; the last good list stays, also over a restart. */
export class ProjectRegistry implements Plugin, ProjectDirectory {
  readonly name = 'projects';
  readonly description = 'Knows the projects, their repositories and folders.';
  readonly after = ['project-sync'];
  readonly #source: ProjectSource | undefined;
  readonly #clock: Clock;
  #state: RegistryState = { projects: [], readAt: null, error: null };
  #poller: Poller | undefined;

  constructor(source: ProjectSource | undefined, clock: Clock = systemClock) {
    this.#source = source;
    this.#clock = clock;
  }

  mount(app: Hono<SwitchboardEnv>): void {
    mountProjects(app, this);
  }

  async start(context: PluginContext): Promise<void> {
    await this.#restore(this.#file(context), context.logger);
    const source = this.#source;
    if (source === undefined) return;
    this.#poller = new Poller({
      everyMs: () => pollEveryMs,
      poll: (signal) => this.#read(source, context, signal),
      onError: (error) => this.#complain(errorMessage(error), context),
      clock: this.#clock,
    });
    this.#poller.start();
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  list(): readonly Project[] {
    return this.#state.projects;
  }

  state(): RegistryState {
    return this.#state;
  }

  async #read(source: ProjectSource, context: PluginContext, signal: AbortSignal): Promise<void> {
    const projects = readProjects(await source(signal));
    const readAt = this.#clock.now();
    this.#state = { projects, readAt, error: null };
    await writeFileAtomic(this.#file(context), JSON.stringify({ projects, readAt }, undefined, 2));
  }

  /** Reports when it begins to fail, not every five minutes. */
  async #complain(error: string, { bus, logger }: PluginContext): Promise<void> {
    const isNew = this.#state.error !== error;
    this.#state = { ...this.#state, error };
    if (!isNew) return;
    logger.warn(
      { projects: this.#state.projects.length, error },
      'failed to read projects; the last list stays',
    );
    await reportError(bus, logger, { source: 'projects', plugin: 'projects', error });
  }

  async #restore(path: string, logger: Logger): Promise<void> {
    try {
      const kept = (await readJsonFile(path)) as { projects?: unknown; readAt?: number } | undefined;
      if (kept === undefined) return;
      this.#state = { projects: readProjects(kept.projects), readAt: kept.readAt ?? null, error: null };
    } catch (error) {
      logger.warn({ err: error, path }, 'failed to read stored projects; asking the registry');
    }
  }

  #file({ home }: PluginContext): string {
    return join(home, 'projects.json');
  }
}

/** Fetches PROJECT_REGISTRY_URL. */
export function remoteSource(url: string): ProjectSource {
  return async (signal) => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await ask(url, within);
    if (!response.ok)
      throw new Error(`The project registry (PROJECT_REGISTRY_URL) answered ${response.status}.`);
    return parse(await limitBody(response, { maxBytes: largestBytes, tooLarge }).text());
  };
}

const tooLarge = () => new Error('The answer of the project registry is larger than 20 MB.');

async function ask(url: string, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, { signal, headers: { accept: 'application/json' } });
  } catch (cause) {
    throw new Error('The project registry could not be reached; look at PROJECT_REGISTRY_URL.', { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error('The project registry answered with what is no JSON.', { cause });
  }
}

/** Derives missing fields of an entry from the others. Throws when there is no list. */
export function readProjects(body: unknown): Project[] {
  const parsed = answer.safeParse(body);
  if (!parsed.success)
    throw new Error(
      'The project registry answered without a list of projects; expected {"projects": [{"id", "name", "path", ...}]}.',
    );
  const known = parsed.data.flatMap((found) => toProject(found) ?? []);
  return [...new Map(known.map((project) => [project.slug, project])).values()];
}

function toProject({
  id,
  name,
  slug,
  path = '',
  github,
  defaultBranch,
}: z.output<typeof entry>): Project | undefined {
  const repo = readRepository(github) ?? readRepository(name?.includes('/') ? name : undefined);
  const title = name ?? repo?.repo ?? (path === '' ? undefined : basename(path)) ?? id?.toString();
  if (title === undefined) return undefined;
  const short = slug ?? slugOf(name ?? repo?.repo ?? title);
  return {
    id: id?.toString() ?? short,
    name: title,
    slug: short,
    path,
    ...(repo && { github: repo }),
    defaultBranch: defaultBranch ?? 'main',
  };
}

/** `owner/repo`, or the address of a repository. */
function readRepository(given: z.output<typeof repository> | null | undefined): Project['github'] {
  if (given === null || given === undefined) return undefined;
  if (typeof given !== 'string') return given;
  const match = /(?:^|[/:])([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(given);
  return match?.[1] !== undefined && match[2] !== undefined ? { owner: match[1], repo: match[2] } : undefined;
}

function slugOf(name: string): string {
  return name
    .split('/')
    .at(-1)
    ?.toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '') as string;
}

function mountProjects(app: Hono<SwitchboardEnv>, registry: { state(): RegistryState }): void {
  app.get('/api/projects', describeRoute({ summary: 'The projects of the registry' }), (context) => {
    const { projects, readAt, error } = registry.state();
    const times = { readAt: readAt === null ? null : new Date(readAt).toISOString(), problem: error };
    return context.json({ success: true, data: projects, ...times });
  });
}
