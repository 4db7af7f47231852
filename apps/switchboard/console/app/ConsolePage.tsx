import { AppShell, PAGE, Progress, useHashRoute, useHealth } from '@trunkline/ui';
import { type ComponentType, lazy, Suspense } from 'react';
import { LiveProvider } from '../shared/live.ts';
import { SECTIONS } from '../shared/sections.tsx';

/** The page at "/app". Each section is loaded when it is opened. */
export function ConsolePage() {
  const [named = ''] = useHashRoute();
  const { health, error } = useHealth();
  const wanted = RENAMED[named] ?? named;
  const section = wanted in PAGES ? wanted : FIRST;
  const Page = PAGES[section];
  return (
    <AppShell
      service="switchboard"
      state={error === undefined ? (health?.state ?? 'waiting') : 'failed'}
      services={health?.services}
      sections={SECTIONS}
      currentSection={section}
    >
      <LiveProvider>
        {/* By its key the part that is left goes at once: kept until the next is loaded, it would read the new address as its own. */}
        <Suspense key={section} fallback={<Loading />}>
          {Page && <Page />}
        </Suspense>
      </LiveProvider>
    </AppShell>
  );
}

const FIRST = 'map';

/** Sections by the names that older bookmarks hold. */
const RENAMED: Readonly<Record<string, string>> = { parts: 'plugins' };

const PAGES: Record<string, ComponentType> = {
  map: lazy(() => import('../pages/map/MapPage.tsx')),
  feed: lazy(() => import('../pages/feed/FeedPage.tsx')),
  flows: lazy(() => import('../pages/flows/FlowsPage.tsx')),
  questions: lazy(() => import('../pages/questions/QuestionsPage.tsx')),
  schedules: lazy(() => import('../pages/schedules/SchedulesPage.tsx')),
  routes: lazy(() => import('../pages/routes/RoutesPage.tsx')),
  agents: lazy(() => import('../pages/agents/AgentsPage.tsx')),
  servers: lazy(() => import('../pages/servers/ServersPage.tsx')),
  deliveries: lazy(() => import('../pages/deliveries/DeliveriesPage.tsx')),
  incidents: lazy(() => import('../pages/incidents/IncidentsPage.tsx')),
  alerts: lazy(() => import('../pages/alerts/AlertsPage.tsx')),
  changes: lazy(() => import('../pages/changes/ChangesPage.tsx')),
  nodes: lazy(() => import('../pages/nodes/NodesPage.tsx')),
  plugins: lazy(() => import('../pages/plugins/PluginsPage.tsx')),
};

function Loading() {
  return (
    <div className={PAGE}>
      <Progress words="Loading" />
    </div>
  );
}
