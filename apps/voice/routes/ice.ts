import { describeRoute } from '@trunkline/http';
import type { IceServer } from '../media/ice.ts';
import type { VoiceApp } from './voice-app.ts';

/** The servers that help a client to be reached, in the form of an RTCConfiguration. */
export function mountIce(app: VoiceApp, iceServers: readonly IceServer[]): void {
  app.get('/api/ice', describeRoute({ summary: 'STUN and TURN servers for the client' }), (context) => {
    context.header('cache-control', 'no-store');
    return context.json({ iceServers });
  });
}
