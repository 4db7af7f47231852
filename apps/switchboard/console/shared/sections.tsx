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
  Siren,
  Split,
} from 'lucide-react';
import type { ReactNode } from 'react';
import '@trunkline/ui/styles.css';
import { useLiveState } from './live.ts';

const inConsole = (id: string, label: string, icon: Section['icon']): Section => ({
  id,
  label,
  icon,
  href: `/app#/${id}`,
});

/** The first is shown when none is named. The status page is at the root. */
export const SECTIONS: readonly Section[] = [
  inConsole('map', 'Map', <Network aria-hidden />),
  inConsole('feed', 'Feed', <Radio aria-hidden />),
  inConsole('flows', 'Flows', <Route aria-hidden />),
  inConsole('questions', 'Questions', <MessageCircleQuestion aria-hidden />),
  inConsole('schedules', 'Schedules', <AlarmClock aria-hidden />),
  inConsole('routes', 'Routes', <Split aria-hidden />),
  inConsole('agents', 'Agents', <Bot aria-hidden />),
  inConsole('servers', 'MCP servers', <Plug aria-hidden />),
  inConsole('deliveries', 'Deliveries', <MailWarning aria-hidden />),
  inConsole('incidents', 'Incidents', <Siren aria-hidden />),
  inConsole('alerts', 'Alerts', <BellRing aria-hidden />),
  inConsole('changes', 'Changes', <History aria-hidden />),
  inConsole('plugins', 'Plugins', <Puzzle aria-hidden />),
  { id: 'status', label: 'Status', icon: <HeartPulse aria-hidden />, href: '/' },
];

export function mountSwitchboardPage(page: ReactNode): void {
  mountPage(page, { keyName: 'trunkline.switchboard.key', scheme: 'api-key', owner: 'the switchboard' });
}

export function Frame(props: Omit<PageFrameProps, 'stream'>) {
  return <PageFrame {...props} stream={useLiveState()} />;
}
