import type { LampState } from '../components/Lamp.tsx';

export const SERVICE_NAMES = ['voice', 'agent', 'research', 'switchboard'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** Another service of the exchange, as this one sees it. */
export interface ServiceLink {
  name: ServiceName;
  /** Where its page is; none when it does not run. */
  url: string | undefined;
  state: LampState;
}
