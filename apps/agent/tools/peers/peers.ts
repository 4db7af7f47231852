import { type Environment, readVariables } from '@trunkline/config';

/** Another agent that the operator named by variables. */
export interface Peer {
  name: string;
  url: string;
  token: string | undefined;
}

/** `PEER_<HANDLE>_URL`, with `PEER_<HANDLE>_TOKEN` beside it; the handle in lower case is the name. */
export function readPeers(env?: Environment): Peer[] {
  const urls = readVariables(/^PEER_(.+)_URL$/, env);
  const tokens = readVariables(/^PEER_(.+)_TOKEN$/, env);
  return [...urls].map(([handle, url]) => ({ name: handle.toLowerCase(), url, token: tokens.get(handle) }));
}
