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
import { MessageSquare } from 'lucide-react';
import { createContext, type ReactNode, useContext } from 'react';
import { useLiveState } from '../app/live.ts';
import '@trunkline/ui/styles.css';

interface AgentShellProps {
  /** The sections of the console. */
  pages: readonly Section[];
  section: string;
  commands?: readonly Command[];
  inspector?: ReactNode;
  children: ReactNode;
}

/** The frame of both pages of the agent. */
export function AgentShell({ pages, section, commands = [], inspector, children }: AgentShellProps) {
  const resource = useHealth();
  const { health } = resource;
  return (
    <HealthContext value={resource}>
      <AppShell
        service="agent"
        state={stateOf(resource)}
        services={health?.services}
        // Where the chat page is not served, it is left out.
        sections={factOf(resource, 'ui') === 'console' ? pages : [CHAT, ...pages]}
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

const CHAT: Section = {
  group: 'Work',
  id: 'chat',
  label: 'Chat',
  icon: <MessageSquare aria-hidden />,
  href: '/',
};

/** A part of the console, with the line on which its changes come. */
export function PageFrame(props: Omit<PageFrameProps, 'stream'>) {
  return <Frame {...props} stream={useLiveState()} />;
}

/** Mounts a page of the agent; the contract names where its token is stored. */
export function mountAgentPage(page: ReactNode): void {
  mountPage(page, { keyName: 'core.authToken', scheme: 'bearer', owner: 'the agent service' });
}
