import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSearchServer } from '@trunkline/testing';
import { Group } from '../bench/peers/processes.ts';

const command = join(import.meta.dirname, '../bin/trunkline.js');
const serviceNames = ['agent', 'voice', 'research', 'switchboard'] as const;
export type ServiceName = (typeof serviceNames)[number];

const pages = ['Lighthouse of Ulm', 'Lighthouses on rivers'].map((title, index) => ({
  path: `/lighthouse-${index}`,
  title,
  text: 'The lighthouse of Ulm was built in 1904. It stands on the bank of the Danube and is 21 metres high.\nIts keeper lights the lamp at dusk.',
}));

export interface Services {
  urls: Record<ServiceName, string>;
  /** While it is true, whoever searches waits. */
  holdSearch(held: boolean): void;
  stop(): Promise<void>;
}

/** All four services by the shipped command, with the demo model, free ports and the peers' servers as delegates. */
export async function startServices(delegates: readonly { name: string; url: string }[]): Promise<Services> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-interop-'));
  const workspace = join(home, 'workspace');
  write(join(home, 'agent/config'), 'agent.yaml', {
    delegates: delegates.map((delegate) => ({ ...delegate, type: 'a2a', description: 'A peer' })),
  });
  write(join(home, 'voice'), 'delegates.yaml', {
    delegates: delegates.map((delegate) => ({ ...delegate, type: 'a2a', description: 'A peer' })),
  });
  const search = await startSearchServer({ pages });
  const processes = new Group(home);
  const stop = async () => {
    await processes.stop();
    await search.stop();
    rmSync(home, { recursive: true, force: true });
  };
  const env = {
    TRUNKLINE_HOME: home,
    WORKSPACE_DIR: workspace,
    DELEGATES_YAML: join(home, 'voice/delegates.yaml'),
    // Nothing leaves the machine: research reads pages of our own.
    SEARXNG_URL: search.searxngUrl,
    FETCH_ALLOWED_CIDRS: '127.0.0.0/8',
    PUSH_NOTIFICATION_ALLOWED_CIDRS: '127.0.0.0/8',
    A2A_GRPC_PORT: '0',
    VOICE_GRPC_PORT: '0',
    RESEARCH_GRPC_PORT: '0',
    SWITCHBOARD_GRPC_PORT: '0',
  };
  const urls: Partial<Record<ServiceName, string>> = {};
  try {
    for (const name of serviceNames) {
      if (name === 'switchboard')
        write(workspace, 'agents.yaml', { agents: [{ name: 'helm', url: urls.agent }, ...delegates] });
      urls[name] = await processes.launch(process.execPath, [command, name, '--port', '0'], {
        env,
        ready: /(http:\/\/127\.0\.0\.1:\d+)/,
      });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    urls: urls as Services['urls'],
    holdSearch: (held) => (search.faults.searxng = held ? 'hang' : 'none'),
    stop,
  };
}

function write(folder: string, name: string, content: object): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), JSON.stringify(content));
}
