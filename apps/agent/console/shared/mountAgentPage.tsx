import { mountPage } from '@trunkline/ui';
import type { ReactNode } from 'react';
import '@trunkline/ui/styles.css';

/** Puts a page of the agent into its document; its token is kept where the contract says. */
export function mountAgentPage(page: ReactNode): void {
  mountPage(page, { keyName: 'core.authToken', scheme: 'bearer', owner: 'the agent service' });
}
