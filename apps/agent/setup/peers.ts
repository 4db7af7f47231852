import { type Peers, peerRoles } from '@trunkline/service';
import { createA2aDelegate, type Delegate, DelegateError } from '@trunkline/tools';

/** The services beside this one, to whom parts of the work can be handed; those that the configuration names itself are left out. */
export function peerDelegates(peers: Peers | undefined, named: readonly Delegate[]): Delegate[] {
  if (peers === undefined) return [];
  return (['research', 'voice'] as const)
    .filter((name) => !named.some((delegate) => delegate.name === name))
    .map((name) => peerDelegate(peers, name));
}

/** Where it runs is asked with each call, as it may start later. */
function peerDelegate(peers: Peers, name: 'research' | 'voice'): Delegate {
  const description = peerRoles[name];
  const open = new Map<string, Delegate>();
  return {
    name,
    description,
    ask(query, context) {
      const url = peers.find(name)?.url;
      if (url === undefined)
        throw new DelegateError('delegate_unreachable', `${name} does not run at the moment.`);
      const delegate =
        open.get(url) ??
        createA2aDelegate({ name, description, url, peer: { token: peers.serviceToken, name: 'agent' } });
      open.set(url, delegate);
      return delegate.ask(query, context);
    },
  };
}
