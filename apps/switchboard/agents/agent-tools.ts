import { type Bus, escapeSegment } from '@trunkline/bus';
import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { checkPublish, operator } from '../access/caller.ts';
import type { Project, ProjectDirectory } from '../core/project-directory.ts';
import type { IncidentBook } from '../incidents/incident-book.ts';
import type { Ceremony } from '../workspace/schema/ceremony.ts';
import { severities } from '../workspace/schema/incidents.ts';

export interface ToolParts {
  bus: Bus;
  incidents: IncidentBook;
  projects: ProjectDirectory;
  ceremonies: () => readonly Ceremony[];
}

/** The tools that the whitelist of an agent may name, made for one piece of work. */
export function whitelistedTools(parts: ToolParts, correlationId: string, agent: string): Tool[] {
  return [
    publishEvent(parts, correlationId),
    getProjects(parts),
    getIncidents(parts),
    reportIncident(parts, agent),
    getCeremonies(parts),
    runCeremony(parts, correlationId, agent),
  ] as Tool[];
}

function publishEvent({ bus }: ToolParts, correlationId: string) {
  return defineTool({
    name: 'publish_event',
    description: 'Publishes an event onto the message bus.',
    input: z.object({
      topic: z.string().describe('Segments between dots, such as deploy.finished'),
      payload: z.record(z.string(), z.unknown()).default({}),
    }),
    async execute({ topic, payload }) {
      try {
        checkPublish(operator, { topic, payload });
        const { id } = await bus.publish({ topic, payload, correlationId, source: { interface: 'agent' } });
        return `Published as ${id}.`;
      } catch (error) {
        return `Error: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
  });
}

function getIncidents({ incidents }: ToolParts) {
  return defineTool({
    name: 'get_incidents',
    description: 'Lists incidents, those that are not resolved unless all are asked for.',
    input: z.object({ all: z.boolean().default(false) }),
    async execute({ all }) {
      const found = incidents.list().filter(({ status }) => all || status !== 'resolved');
      if (found.length === 0) return 'There are no incidents.';
      return found
        .map(({ id, severity, status, title }) => `${id} [${severity}, ${status}] ${title}`)
        .join('\n');
    },
  });
}

function reportIncident({ incidents }: ToolParts, agent: string) {
  return defineTool({
    name: 'report_incident',
    description: 'Reports a new incident.',
    input: z.object({
      title: z.string().min(1),
      severity: z.enum(severities).default('medium'),
      description: z.string().optional(),
    }),
    async execute({ title, severity, description }) {
      const given = { title, severity, ...(description && { description }) };
      const { id } = await incidents.report(given, agent);
      return `Reported as ${id}.`;
    },
  });
}

function getProjects({ projects }: ToolParts) {
  return defineTool({
    name: 'get_projects',
    description: 'Lists the projects of the organisation.',
    input: z.object({}),
    async execute() {
      const found = projects.list();
      if (found.length === 0) return 'There are no projects.';
      return found.map(projectLine).join('\n');
    },
  });
}

function projectLine({ slug, name, github, defaultBranch }: Project): string {
  const place = github === undefined ? '' : ` at ${github.owner}/${github.repo}`;
  return `${slug}: ${name}${place}, branch ${defaultBranch}`;
}

function getCeremonies({ ceremonies }: ToolParts) {
  return defineTool({
    name: 'get_ceremonies',
    description: 'Lists the ceremonies: what agents do at set times.',
    input: z.object({}),
    async execute() {
      const found = ceremonies();
      if (found.length === 0) return 'There are no ceremonies.';
      return found
        .map(({ id, name, schedule, enabled }) => `${id}: ${name} (${schedule} UTC${enabled ? '' : ', off'})`)
        .join('\n');
    },
  });
}

function runCeremony({ bus, ceremonies }: ToolParts, correlationId: string, agent: string) {
  return defineTool({
    name: 'run_ceremony',
    description: 'Begins a ceremony now. It goes on by itself; its outcome is not waited for.',
    input: z.object({ id: z.string().describe('The id of a ceremony, as get_ceremonies lists it.') }),
    async execute({ id }) {
      if (!ceremonies().some((ceremony) => ceremony.id === id)) return `Error: there is no ceremony ${id}.`;
      const payload = { id, requestedBy: agent };
      await bus.publish({ topic: `ceremony.${escapeSegment(id)}.execute`, payload, correlationId });
      return `The ceremony ${id} has begun.`;
    },
  });
}
