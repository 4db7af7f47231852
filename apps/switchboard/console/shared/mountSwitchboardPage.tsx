import { mountPage } from '@trunkline/ui';
import type { ReactNode } from 'react';
import '@trunkline/ui/styles.css';

/** Puts a page of the switchboard into its document. */
export function mountSwitchboardPage(page: ReactNode): void {
  mountPage(page, { keyName: 'trunkline.switchboard.key', scheme: 'api-key', owner: 'the switchboard' });
}
