import {
  AppShell,
  type Command,
  PageFrame as Frame,
  type HealthResource,
  mountPage,
  type PageFrameProps,
  type Section,
  useHealth,
} from '@trunkline/ui';
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
import { createContext, type ReactNode, useContext } from 'react';
import { useLiveState } from '../app/live.ts';
import '@trunkline/ui/styles.css';

interface AgentShellProps {
  section: string;
  commands?: readonly Command[];
  inspector?: ReactNode;
  children: ReactNode;
}

/** The frame of both pages of the agent. */
export function AgentShell({ section, commands = [], inspector, children }: AgentShellProps) {
  const resource = useHealth();
  const { health } = resource;
  return (
    <HealthContext value={resource}>
      <AppShell
        service="agent"
        state={stateOf(resource)}
        services={health?.services}
        sections={sectionsFor(factOf(resource, 'ui'))}
        currentSection={section}
        commands={commands}
        inspector={inspector}
      >
        {children}
      </AppShell>
    </HealthContext>
  );
}

/** How the service is. */
export function useServiceHealth(): HealthResource {
  const resource = useContext(HealthContext);
  if (resource === null) throw new Error('useServiceHealth needs an AgentShell around the page');
  return resource;
}

function factOf({ health }: HealthResource, key: string): string | undefined {
  return health?.facts.find((fact) => fact.key === key)?.value;
}

const HealthContext = createContext<HealthResource | null>(null);

function stateOf({ health, error }: HealthResource) {
  if (error !== undefined) return 'failed';
  return health?.state ?? 'waiting';
}

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
function sectionsFor(ui: string | undefined): readonly Section[] {
  return ui === 'console' ? CONSOLE : [CHAT, ...CONSOLE];
}

/** A part of the console, with the line on which its changes come. */
export function PageFrame(props: Omit<PageFrameProps, 'stream'>) {
  return <Frame {...props} stream={useLiveState()} />;
}

/** Mounts a page of the agent; the contract names where its token is stored. */
export function mountAgentPage(page: ReactNode): void {
  mountPage(page, { keyName: 'core.authToken', scheme: 'bearer', owner: 'the agent service' });
}
