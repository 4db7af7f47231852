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
  page('Work', 'activity', 'Activity', Activity, () => import('../pages/activity/ActivityPage.tsx')),
  page('Work', 'tasks', 'Tasks', ListChecks, () => import('../pages/tasks/TasksPage.tsx')),
  page('Work', 'schedules', 'Schedules', CalendarClock, () => import('../pages/schedules/SchedulesPage.tsx')),
  page('Work', 'goals', 'Goals', Flag, () => import('../pages/goals/GoalsPage.tsx')),
  page('Work', 'board', 'Board', KanbanSquare, () => import('../pages/board/BoardPage.tsx')),
  page('Knowledge', 'memory', 'Memory', Brain, () => import('../pages/memory/MemoryPage.tsx')),
  page('Knowledge', 'notes', 'Notes', StickyNote, () => import('../pages/notes/NotesPage.tsx')),
  page('Knowledge', 'skills', 'Skills', BookOpen, () => import('../pages/skills/SkillsPage.tsx')),
  page('Connect', 'helpers', 'Helpers', Users, () => import('../pages/helpers/HelpersPage.tsx')),
  page(
    'Connect',
    'connections',
    'Connections',
    Plug,
    () => import('../pages/connections/ConnectionsPage.tsx'),
  ),
  page('Operate', 'telemetry', 'Telemetry', ChartLine, () => import('../pages/telemetry/TelemetryPage.tsx')),
  page('Operate', 'audit', 'Audit log', ScrollText, () => import('../pages/audit/AuditPage.tsx')),
  page('Operate', 'settings', 'Settings', Settings2, () => import('../pages/settings/SettingsPage.tsx')),
];

function page(
  group: string,
  id: string,
  label: string,
  Icon: LucideIcon,
  load: () => Promise<{ default: ComponentType }>,
): ConsoleSection {
  return { group, id, label, icon: <Icon aria-hidden />, href: `/app#/${id}`, Page: lazy(load) };
}
