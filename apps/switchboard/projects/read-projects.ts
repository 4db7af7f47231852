import { basename } from 'node:path';
import { z } from 'zod';
import type { Project } from '../core/project-directory.ts';

const repository = z.union([z.string(), z.object({ owner: z.string(), repo: z.string() })]);

const entry = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  name: z.string().min(1).optional(),
  slug: z.string().min(1).optional(),
  path: z.string().optional(),
  github: repository.nullish(),
  defaultBranch: z.string().min(1).optional(),
});

/** The list may stand alone, or under `projects` in what the registry calls its settings. */
const answer = z.union([
  z.array(entry),
  z.looseObject({ projects: z.array(entry) }).transform(({ projects }) => projects),
  z
    .looseObject({ settings: z.looseObject({ projects: z.array(entry) }) })
    .transform(({ settings }) => settings.projects),
  z.looseObject({ data: z.looseObject({ projects: z.array(entry) }) }).transform(({ data }) => data.projects),
]);

/** Reads what the registry answered; what is left out of an entry follows from the rest. Throws when there is no list in it. */
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
