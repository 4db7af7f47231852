import { type ModelServer, startModelServer, withoutFence } from '@trunkline/testing';
import { onTestFinished } from 'vitest';
import { type PeerAnswer, startPeer } from '../peer.suite.ts';
import { startVoice } from '../voice.suite.ts';

/** A model that asks the delegate and then repeats what it was told. */
async function startAsking(target: string, query = 'Who won?'): Promise<ModelServer> {
  const server = await startModelServer({
    script: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return `Heard: ${withoutFence(last.content)}`;
      return { toolCalls: [{ name: 'delegate_to', arguments: { target, query } }] };
    },
  });
  onTestFinished(() => server.stop());
  return server;
}

/** The service with one delegate, called scout, and a model that asks it. */
export async function startWith(
  entry: string,
  answer: () => PeerAnswer,
  env: Record<string, string> = {},
  home?: string,
) {
  const peer = await startPeer(answer);
  const model = await startAsking('scout');
  const voice = await startVoice({
    ...(home !== undefined && { home }),
    files: {
      'delegates.yaml': `delegates:\n  - {name: scout, description: Knows sport., url: "\${PEER_URL}", ${entry}}`,
    },
    env: { LLM_URL: model.url, LLM_MODEL: 'm', PEER_URL: peer.url, ...env },
  });
  return { peer, model, voice };
}
