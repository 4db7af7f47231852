import { a2aSdk } from './a2a-sdk.ts';
import { aiSdk } from './ai-sdk.ts';
import { bullmq, bullmqDurable } from './bullmq.ts';
import { langgraph } from './langgraph.ts';
import { livekit } from './livekit.ts';
import { mastra, mastraMemory } from './mastra.ts';
import { n8n } from './n8n.ts';
import { nats } from './nats.ts';
import { nodeRed } from './node-red.ts';
import { openclaw } from './openclaw.ts';
import { ourAgent, ourSwitchboard, ourVoice } from './ours.ts';
import type { Peer } from './peer.ts';

/** In the order of the tables; ours first of each kind. */
export const peers: readonly Peer[] = [
  ourAgent,
  aiSdk,
  a2aSdk,
  mastra,
  mastraMemory,
  langgraph,
  openclaw,
  ourSwitchboard,
  nats,
  bullmq,
  bullmqDurable,
  nodeRed,
  n8n,
  ourVoice,
  livekit,
];
