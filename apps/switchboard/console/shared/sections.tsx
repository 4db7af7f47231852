import { mountPage, PageFrame, type PageFrameProps, type Section } from '@trunkline/ui';
import {
  AlarmClock,
  BellRing,
  Bot,
  HeartPulse,
  History,
  MailWarning,
  MessageCircleQuestion,
  Network,
  Plug,
  Puzzle,
  Radio,
  Route,
  Server,
  Siren,
  Split,
} from 'lucide-react';
import type { ReactNode } from 'react';
import '@trunkline/ui/styles.css';
import { useLiveState } from './live.ts';

const inConsole = (group: string, id: string, label: string, icon: Section['icon']): Section => ({
  group,
  id,
  label,
  icon,
  href: `/app#/${id}`,
});

/** The first is shown when none is named. The status page is at the root. */
export const SECTIONS: readonly Section[] = [
  inConsole('Work', 'map', 'Map', <Network aria-hidden />),
  inConsole('Work', 'feed', 'Feed', <Radio aria-hidden />),
  inConsole('Work', 'flows', 'Flows', <Route aria-hidden />),
  inConsole('Work', 'questions', 'Questions', <MessageCircleQuestion aria-hidden />),
  inConsole('Work', 'schedules', 'Schedules', <AlarmClock aria-hidden />),
  inConsole('Connect', 'agents', 'Agents', <Bot aria-hidden />),
  inConsole('Connect', 'routes', 'Routes', <Split aria-hidden />),
  inConsole('Connect', 'servers', 'MCP servers', <Plug aria-hidden />),
  inConsole('Connect', 'plugins', 'Plugins', <Puzzle aria-hidden />),
  inConsole('Operate', 'deliveries', 'Deliveries', <MailWarning aria-hidden />),
  inConsole('Operate', 'incidents', 'Incidents', <Siren aria-hidden />),
  inConsole('Operate', 'alerts', 'Alerts', <BellRing aria-hidden />),
  inConsole('Operate', 'changes', 'Changes', <History aria-hidden />),
  inConsole('Operate', 'nodes', 'Nodes', <Server aria-hidden />),
  { group: 'Operate', id: 'status', label: 'Status', icon: <HeartPulse aria-hidden />, href: '/' },
];

export function mountSwitchboardPage(page: ReactNode): void {
  mountPage(page, { keyName: 'trunkline.switchboard.key', scheme: 'api-key', owner: 'the switchboard' });
}

export function Frame(props: Omit<PageFrameProps, 'stream'>) {
  return <PageFrame {...props} stream={useLiveState()} />;
}
