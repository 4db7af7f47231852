/** A service of the same installation, as pages link to it. */
export interface ServiceLink {
  name: string;
  url: string;
  state: 'live' | 'failed';
}

/** The services of one installation, as they call each other. */
export interface Peers {
  /** Peers accept it from each other, whatever keys are set besides. */
  serviceToken: string;
  /** The agent's name in schedules. */
  agentName: string;
  /** A peer that runs. */
  find(name: string): ServiceLink | undefined;
  /** Names of running peers that ask their callers for a key. */
  namesWithKey(): string[];
  /** Called whenever a peer has started. */
  onChange(listener: () => void): void;
}

/** Origins of the running peers, which may call each other from a browser. */
export function peerOrigins(peers: Peers | undefined): string[] {
  const names = ['voice', 'agent', 'research', 'switchboard'];
  return names.flatMap((name) => peers?.find(name)?.url ?? []).map((url) => new URL(url).origin);
}

/** Descriptions of the services for the peers that may delegate work to them. */
export const peerRoles: Readonly<Record<'agent' | 'research' | 'voice', string>> = {
  agent: 'Does longer work with tools: files, memory, schedules, the web.',
  research: 'Searches the web and writes reports whose sources are checked.',
  voice: 'The assistant that people talk with; it answers briefly.',
};
