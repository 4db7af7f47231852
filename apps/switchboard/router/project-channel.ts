import type { Project } from '../core/project-directory.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { Channel } from '../workspace/schema/channels.ts';

/** What a message is about where it says nothing else. */
const defaultKind = 'dev';

/** The project that a repository belongs to. */
function projectOf(
  { owner, repo }: { owner: string; repo: string },
  projects: readonly Project[],
): Project | undefined {
  const wanted = `${owner}/${repo}`.toLowerCase();
  return projects.find(({ github }) => github && `${github.owner}/${github.repo}`.toLowerCase() === wanted);
}

/** The channel that a project uses for this kind of thing. */
function channelOf(slug: string, kind: string, channels: readonly Channel[]): Channel | undefined {
  return channels.find((channel) => channel.project === slug && channel.kind === kind);
}

/** The project and channel of a message that names a repository (`repo: {owner, repo}`, or `owner/repo`). */
export function projectChannel(
  payload: unknown,
  projects: readonly Project[],
  channels: readonly Channel[],
): { project: Project; channel: Channel | undefined } | undefined {
  const fields = fieldsOf(payload);
  const repository = repositoryOf(fields.repo);
  const project = repository && projectOf(repository, projects);
  if (project === undefined) return undefined;
  return { project, channel: channelOf(project.slug, text(fields.kind) ?? defaultKind, channels) };
}

function repositoryOf(value: unknown): { owner: string; repo: string } | undefined {
  const given = typeof value === 'string' ? value.split('/') : [fieldsOf(value).owner, fieldsOf(value).repo];
  const [owner, repo] = [text(given[0]), text(given[1])];
  return owner === undefined || repo === undefined ? undefined : { owner, repo };
}
