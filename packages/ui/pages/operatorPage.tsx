import { KeyRound } from 'lucide-react';
import { type ReactNode, useSyncExternalStore } from 'react';
import { Button } from '../src/components/Button.tsx';
import { EmptyState, Skeleton } from '../src/components/EmptyState.tsx';
import { useOperator } from '../src/operator/OperatorProvider.tsx';
import { AppShell } from '../src/shell/AppShell.tsx';
import { PAGE } from '../src/shell/PageFrame.tsx';
import { type Health, useHealth } from '../src/status/health.ts';

interface OperatorPageProps {
  title: string;
  intro: string;
  /** What a stranger sees once they sign in. */
  withheld: string;
  children(health: Health | undefined): ReactNode;
}

/** The frame of a page that all services share and only the operator sees. */
export function OperatorPage({ title, intro, withheld, children }: OperatorPageProps) {
  const { health, error } = useHealth();
  const { status } = useOperator();
  return (
    <AppShell
      service={status.service ?? 'agent'}
      home={status.home}
      state={error === undefined ? (health?.state ?? 'waiting') : 'failed'}
      services={health?.services}
    >
      <div className={PAGE}>
        <header>
          <h1 className="text-28">{title}</h1>
          <p className="text-muted">{intro}</p>
        </header>
        {status.name === 'unknown' && <Skeleton rows={6} />}
        {status.name === 'signed-out' && <SignIn withheld={withheld} />}
        {(status.name === 'signed-in' || status.name === 'open') && children(health)}
      </div>
    </AppShell>
  );
}

function SignIn({ withheld }: { withheld: string }) {
  const { ask } = useOperator();
  return (
    <EmptyState
      icon={<KeyRound aria-hidden />}
      title="This page is for the operator"
      next={withheld}
      action={
        <Button variant="primary" onClick={() => void ask()}>
          Sign in as operator
        </Button>
      }
    />
  );
}

/** The part of the page that the address names: `/trust/<part>`. */
export function usePart(): string | undefined {
  return useSyncExternalStore(watchPath, () => window.location.pathname).split('/')[2];
}

function watchPath(onChange: () => void): () => void {
  window.addEventListener('popstate', onChange);
  return () => window.removeEventListener('popstate', onChange);
}

/** Shows another part of the same page. */
export function goToPart(path: string): void {
  window.history.pushState(null, '', path);
  window.dispatchEvent(new PopStateEvent('popstate'));
}
