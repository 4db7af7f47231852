import { Progress, useHashRoute } from '@trunkline/ui';
import { type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import { AgentShell } from '../shared/AgentShell.tsx';
import { LiveProvider } from './live.ts';

/** The page at "/app": everything the agent keeps and does. Each part is loaded when it is opened. */
export function ConsolePage() {
  const [named = ''] = useHashRoute();
  const section = named in PAGES ? named : FIRST;
  const Page = PAGES[section];
  return (
    <AgentShell section={section}>
      <LiveProvider>
        <Suspense fallback={<Loading />}>{Page && <Page key={section} />}</Suspense>
      </LiveProvider>
    </AgentShell>
  );
}

const FIRST = 'activity';

const PAGES: Record<string, ComponentType> = {
  activity: lazy(() => import('../pages/activity/ActivityPage.tsx')),
  tasks: lazy(() => import('../pages/tasks/TasksPage.tsx')),
  schedules: lazy(() => import('../pages/schedules/SchedulesPage.tsx')),
  memory: lazy(() => import('../pages/memory/MemoryPage.tsx')),
  notes: lazy(() => import('../pages/notes/NotesPage.tsx')),
  board: lazy(() => import('../pages/board/BoardPage.tsx')),
  goals: lazy(() => import('../pages/goals/GoalsPage.tsx')),
  helpers: lazy(() => import('../pages/helpers/HelpersPage.tsx')),
  skills: lazy(() => import('../pages/skills/SkillsPage.tsx')),
  connections: lazy(() => import('../pages/connections/ConnectionsPage.tsx')),
  telemetry: lazy(() => import('../pages/telemetry/TelemetryPage.tsx')),
  audit: lazy(() => import('../pages/audit/AuditPage.tsx')),
  settings: lazy(() => import('../pages/settings/SettingsPage.tsx')),
};

function Loading(): ReactNode {
  return (
    <div className="mx-auto max-w-xl p-8">
      <Progress words="Loading" />
    </div>
  );
}
