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
  type LucideIcon,
  Plug,
  ScrollText,
  Settings2,
  StickyNote,
  Users,
} from 'lucide-react';
import { type ComponentType, lazy } from 'react';

type ConsoleSection = Section & { Page: ComponentType };

/** The pages of the console; the first is shown when none is named. To add one, write its file and name it here. */
export const consolePages: readonly [ConsoleSection, ...ConsoleSection[]] = [
  page('activity', 'Activity', Activity, () => import('../pages/activity/ActivityPage.tsx')),
  page('tasks', 'Tasks', ListChecks, () => import('../pages/tasks/TasksPage.tsx')),
  page('schedules', 'Schedules', CalendarClock, () => import('../pages/schedules/SchedulesPage.tsx')),
  page('memory', 'Memory', Brain, () => import('../pages/memory/MemoryPage.tsx')),
  page('notes', 'Notes', StickyNote, () => import('../pages/notes/NotesPage.tsx')),
  page('board', 'Board', KanbanSquare, () => import('../pages/board/BoardPage.tsx')),
  page('goals', 'Goals', Flag, () => import('../pages/goals/GoalsPage.tsx')),
  page('helpers', 'Helpers', Users, () => import('../pages/helpers/HelpersPage.tsx')),
  page('skills', 'Skills', BookOpen, () => import('../pages/skills/SkillsPage.tsx')),
  page('connections', 'Connections', Plug, () => import('../pages/connections/ConnectionsPage.tsx')),
  page('telemetry', 'Telemetry', ChartLine, () => import('../pages/telemetry/TelemetryPage.tsx')),
  page('audit', 'Audit log', ScrollText, () => import('../pages/audit/AuditPage.tsx')),
  page('settings', 'Settings', Settings2, () => import('../pages/settings/SettingsPage.tsx')),
];

function page(
  id: string,
  label: string,
  Icon: LucideIcon,
  load: () => Promise<{ default: ComponentType }>,
): ConsoleSection {
  return { id, label, icon: <Icon aria-hidden />, href: `/app#/${id}`, Page: lazy(load) };
}
