import { describeRoute } from '@trunkline/http';
import type { LatencyLog } from '../metrics/latency.ts';
import type { Counters } from '../metrics/record.ts';
import type { SessionRegistry } from '../sessions/registry.ts';
import type { VoiceApp } from './voice-app.ts';

export interface MetricsRouteOptions {
  counters: Counters;
  sessions: SessionRegistry;
  latency: LatencyLog;
}

export function mountMetrics(app: VoiceApp, { counters, sessions, latency }: MetricsRouteOptions): void {
  const summary = 'Counters since the start, and how quickly the last turns were answered';
  app.get('/api/metrics', describeRoute({ summary }), (context) =>
    context.json({ ...counters.record(sessions.size), turn_latency: latency.summary() }),
  );
}
