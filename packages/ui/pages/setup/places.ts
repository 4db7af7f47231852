import type { ServiceLink, ServiceName } from '../../src/shell/services.tsx';

/** Where parts of the setup are: on this service, or on one that runs with it. */
export interface Places {
  own: ServiceName | undefined;
  links: readonly ServiceLink[];
}

/** The address of a part of the setup on one of these services, this one first; undefined where none of them runs. */
export function addressOf(
  part: string,
  services: readonly ServiceName[],
  places: Places,
): string | undefined {
  if (places.own !== undefined && services.includes(places.own)) return `/setup/${part}`;
  const url = services
    .map((name) => places.links.find((link) => link.name === name && link.state !== 'failed')?.url)
    .find((found) => found !== undefined);
  return url === undefined ? undefined : new URL(`/setup/${part}`, url).href;
}
