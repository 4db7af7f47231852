/** Which hosts may be read: with an allow list only those, and never those of the deny list; subdomains count. */
export interface DomainLists {
  allow: readonly string[];
  deny: readonly string[];
}

/** The user's own files have no host and are always allowed. */
export function isAllowed(url: string, { allow, deny }: DomainLists): boolean {
  const host = URL.parse(url)?.hostname.toLowerCase();
  if (host === undefined) return true;
  if (deny.some((domain) => isBelow(host, domain))) return false;
  return allow.length === 0 || allow.some((domain) => isBelow(host, domain));
}

function isBelow(host: string, domain: string): boolean {
  const plain = domain
    .trim()
    .toLowerCase()
    .replace(/^(?:\*?\.|https?:\/\/)/, '')
    .replace(/\/.*$/, '');
  return host === plain || host.endsWith(`.${plain}`);
}
