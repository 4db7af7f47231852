import { type Family, familyRoles } from '@trunkline/service';
import { createA2aDelegate, type Delegate, DelegateError } from '@trunkline/tools';

/** The services beside this one, to whom parts of the work can be handed; those that the configuration names itself are left out. */
export function familyDelegates(family: Family | undefined, named: readonly Delegate[]): Delegate[] {
  if (family === undefined) return [];
  return (['research', 'voice'] as const)
    .filter((name) => !named.some((delegate) => delegate.name === name))
    .map((name) => relative(family, name));
}

/** Where it runs is asked with each call, as it may start later. */
function relative(family: Family, name: 'research' | 'voice'): Delegate {
  const description = familyRoles[name];
  const open = new Map<string, Delegate>();
  return {
    name,
    description,
    ask(query, context) {
      const url = family.find(name)?.url;
      if (url === undefined)
        throw new DelegateError('delegate_unreachable', `${name} does not run at the moment.`);
      const delegate =
        open.get(url) ??
        createA2aDelegate({ name, description, url, peer: { token: family.secret, name: 'agent' } });
      open.set(url, delegate);
      return delegate.ask(query, context);
    },
  };
}
