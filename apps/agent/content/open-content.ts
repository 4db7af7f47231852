import { join } from 'node:path';
import { ExtractionPool } from '@trunkline/documents';
import { createGuardedFetch } from '@trunkline/http';
import { readOrCreateSecret } from '@trunkline/identity';
import { ContentStore } from '@trunkline/loop';
import type { ServiceAddress } from '@trunkline/service';
import type { AgentContext } from '../context.ts';
import type { TurnState } from '../turns/turn-state.ts';
import { AgentContent } from './agent-content.ts';

const hourMs = 60 * 60 * 1000;

export interface OpenContent {
  files: ContentStore;
  content: AgentContent;
  close(): Promise<void>;
}

/** Opens the files of the agent, without those whose conversation is gone. */
export function openContent(
  { options, owners, places, live, policy, logger }: AgentContext,
  { sessions }: Pick<TurnState, 'sessions'>,
  address: ServiceAddress,
): OpenContent {
  const directory = join(places.state, 'content');
  const files = new ContentStore({
    directory,
    maxFileBytes: options.maxFileMb * 2 ** 20,
    maxTotalBytes: options.filesMb * 2 ** 20,
    room: owners.room,
    secret: readOrCreateSecret(directory, 'link-secret'),
  });
  const prune = () => files.prune((sessionId) => sessions.owner(sessionId) !== undefined);
  prune();
  const pruning = setInterval(() => {
    try {
      prune();
    } catch (error) {
      logger.error({ err: error }, 'failed to delete files; retrying');
    }
  }, hourMs).unref();
  const pool = new ExtractionPool();
  const fetch = createGuardedFetch({
    allowedHosts: [...options.fetchAllowedHosts, ...live.config.egress.allowed_hosts],
    allowedCidrs: options.fetchAllowedCidrs,
    maxBytes: options.maxFileMb * 2 ** 20,
  });
  const content = new AgentContent({
    store: files,
    pool,
    fetch,
    policy: policy.for(options.agentName),
    owners,
    publicUrl: () => address.publicUrl,
  });
  return {
    files,
    content,
    async close() {
      clearInterval(pruning);
      await pool.stop();
      files.close();
    },
  };
}
