import { Button } from '@trunkline/ui';
import { MonitorDown } from 'lucide-react';
import { useInstall } from '../install.ts';

/** Puts the page on the home screen, where the browser offers that. */
export function InstallButton() {
  const install = useInstall();
  if (install === undefined) return null;
  return (
    <Button icon={<MonitorDown aria-hidden />} onClick={install}>
      Install as an app
    </Button>
  );
}
