import { AppShell, type Command, type HealthResource, useHealth } from '@trunkline/ui';
import { createContext, type ReactNode, useContext } from 'react';
import { sectionsFor } from './sections.tsx';

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
