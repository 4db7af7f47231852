import type { AgentDefinition } from '../../workspace/schema/agent.ts';

/** The switchboard's own tools, as the pages name them. */
export const TOOL_LABELS: Record<AgentDefinition['tools'][number], string> = {
  publish_event: 'Publish messages',
  get_projects: 'Read the list of projects',
  get_incidents: 'Read incidents',
  report_incident: 'Report incidents',
  get_ceremonies: 'Read ceremonies',
  run_ceremony: 'Run ceremonies',
};
