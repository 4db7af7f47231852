import type { AgentDefinition } from '../../workspace/schema/agent.ts';

/** Whether a topic fits a pattern: `*` stands for one part, `#` for all that follow. */
export function fitsPattern(pattern: string, topic: string): boolean {
  return fits(pattern.split('.'), topic.split('.'));
}

function fits([wanted, ...restWanted]: string[], [given, ...restGiven]: string[]): boolean {
  if (wanted === undefined) return given === undefined;
  if (wanted === '#') return true;
  if (given === undefined || (wanted !== '*' && wanted !== given)) return false;
  return fits(restWanted, restGiven);
}

/** The switchboard's own tools, as the pages name them. */
export const TOOL_LABELS: Record<AgentDefinition['tools'][number], string> = {
  publish_event: 'Publish messages',
  get_projects: 'Read the list of projects',
  get_incidents: 'Read incidents',
  report_incident: 'Report incidents',
  get_ceremonies: 'Read ceremonies',
  run_ceremony: 'Run ceremonies',
};
