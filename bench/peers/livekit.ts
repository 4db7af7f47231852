import { join } from 'node:path';
import { spokenTurn, writeQuestion } from './ours.ts';
import type { Peer } from './peer.ts';

/** A session of LiveKit Agents without its server, with its own detectors and our sound in and out. */
export const livekit: Peer = {
  name: 'LiveKit Agents for JavaScript',
  id: 'livekit',
  kind: 'voice',
  package: '@livekit/agents',
  folder: '.',
  needs: [],
  install:
    'npm only; the licence of its turn model allows use inside LiveKit Agents only, so it is measured there and nowhere else',
  durability: 'nothing is kept',
  unfair:
    'to LiveKit: its turn model needs a free processor for 20 ms, on a loaded machine it takes far longer',
  units: 10,
  atOnce: 1,
  prepare: writeQuestion,
  start: (place) => spokenTurn(place, join(import.meta.dirname, 'programs/livekit.js')),
};
