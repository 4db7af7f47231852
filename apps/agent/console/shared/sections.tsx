import type { Section } from '@trunkline/ui';
import {
  Activity,
  BookOpen,
  Brain,
  CalendarClock,
  ChartLine,
  Flag,
  KanbanSquare,
  ListChecks,
  MessageSquare,
  Plug,
  ScrollText,
  Settings2,
  StickyNote,
  Users,
} from 'lucide-react';

const CHAT: Section = { id: 'chat', label: 'Chat', icon: <MessageSquare aria-hidden />, href: '/' };

const inConsole = (id: string, label: string, icon: Section['icon']): Section => ({
  id,
  label,
  icon,
  href: `/app#/${id}`,
});

/** The sections of the console; the first is shown when none is named. */
const CONSOLE: readonly Section[] = [
  inConsole('activity', 'Activity', <Activity aria-hidden />),
  inConsole('tasks', 'Tasks', <ListChecks aria-hidden />),
  inConsole('schedules', 'Schedules', <CalendarClock aria-hidden />),
  inConsole('memory', 'Memory', <Brain aria-hidden />),
  inConsole('notes', 'Notes', <StickyNote aria-hidden />),
  inConsole('board', 'Board', <KanbanSquare aria-hidden />),
  inConsole('goals', 'Goals', <Flag aria-hidden />),
  inConsole('helpers', 'Helpers', <Users aria-hidden />),
  inConsole('skills', 'Skills', <BookOpen aria-hidden />),
  inConsole('connections', 'Connections', <Plug aria-hidden />),
  inConsole('telemetry', 'Telemetry', <ChartLine aria-hidden />),
  inConsole('audit', 'Audit log', <ScrollText aria-hidden />),
  inConsole('settings', 'Settings', <Settings2 aria-hidden />),
];

/** What both pages lead to; where the chat page is not served, it is left out. */
export function sectionsFor(ui: string | undefined): readonly Section[] {
  return ui === 'console' ? CONSOLE : [CHAT, ...CONSOLE];
}
