import type { Bus } from '@trunkline/bus';
import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { checkPublish, operator } from '../access/caller.ts';
import type { IncidentBook } from '../incidents/incident-book.ts';
import { severities } from '../workspace/schema/incidents.ts';

export interface ToolParts {
  bus: Bus;
  incidents: IncidentBook;
}

/** Of the tools that an agent's file may list, those that this service has. */
export const availableTools: readonly string[] = ['publish_event', 'get_incidents', 'report_incident'];

/** The tools of the whitelist that this service brings, made for one piece of work. */
export function whitelistedTools(parts: ToolParts, correlationId: string, agent: string): Tool[] {
  return [publishEvent(parts, correlationId), getIncidents(parts), reportIncident(parts, agent)] as Tool[];
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
