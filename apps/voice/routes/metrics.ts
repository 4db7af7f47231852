import { describeRoute } from '@trunkline/http';
import type { Counters } from '../metrics/record.ts';
import type { SessionRegistry } from '../sessions/registry.ts';
import type { VoiceApp } from './voice-app.ts';

export function mountMetrics(app: VoiceApp, counters: Counters, sessions: SessionRegistry): void {
  app.get('/api/metrics', describeRoute({ summary: 'Counters since the start' }), (context) =>
    context.json(counters.record(sessions.size)),
  );
}
