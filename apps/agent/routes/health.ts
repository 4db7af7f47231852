import type { HealthReport } from '@trunkline/http';

/** Not ready until the agent is compiled; what else is known of it stands beside. */
export function healthReport(compiled: boolean, facts: Readonly<Record<string, unknown>>): HealthReport {
  return { status: compiled ? 200 : 503, body: { ok: compiled, graph_compiled: compiled, ...facts } };
}
