import { mountPage } from '@trunkline/ui';
import type { ReactNode } from 'react';
import '@trunkline/ui/styles.css';

/** Mounts a page of the agent; the contract names where its token is stored. */
export function mountAgentPage(page: ReactNode): void {
  mountPage(page, { keyName: 'core.authToken', scheme: 'bearer', owner: 'the agent service' });
}
