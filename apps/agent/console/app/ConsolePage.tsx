import { PAGE, Progress, useHashRoute } from '@trunkline/ui';
import { Suspense } from 'react';
import { AgentShell } from '../shared/AgentShell.tsx';
import { consolePages } from './console-pages.tsx';
import { LiveProvider } from './live.ts';

/** The page at "/app": everything the agent keeps and does. Each part is loaded when it is opened. */
export function ConsolePage() {
  const [named] = useHashRoute();
  const shown = consolePages.find(({ id }) => id === named) ?? consolePages[0];
  return (
    <AgentShell pages={consolePages} section={shown.id}>
      <LiveProvider>
        {/* By its key the part that is left goes at once: kept until the next is loaded, it would read the new address as its own. */}
        <Suspense key={shown.id} fallback={<Loading />}>
          <shown.Page />
        </Suspense>
      </LiveProvider>
    </AgentShell>
  );
}

function Loading() {
  return (
    <div className={PAGE}>
      <Progress words="Loading" />
    </div>
  );
}
