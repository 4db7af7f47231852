import { KeyRound } from 'lucide-react';
import { Suspense, useSyncExternalStore } from 'react';
import { Button } from '../../src/components/Button.tsx';
import { EmptyState, Skeleton } from '../../src/components/EmptyState.tsx';
import { Tabs } from '../../src/components/Table.tsx';
import { useOperator } from '../../src/operator/OperatorProvider.tsx';
import { AppShell } from '../../src/shell/AppShell.tsx';
import { ErrorBoundary } from '../../src/shell/ErrorBoundary.tsx';
import { PAGE } from '../../src/shell/PageFrame.tsx';
import { useHealth } from '../../src/status/health.ts';
import { trustTabs } from './tabs.tsx';

/** The page at "/trust", the same on every service: who may do what, what was done, and what is weak. */
export function TrustPage() {
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
          <h1 className="text-28">Trust</h1>
          <p className="text-muted">Who may do what in this installation, what was done, and what is weak.</p>
        </header>
        <TabContent />
      </div>
    </AppShell>
  );
}

function TabContent() {
  const { status, session } = useOperator();
  const shown = useTab();
  if (status.name === 'unknown') return <Skeleton rows={6} />;
  if (status.name === 'signed-out') return <SignIn />;
  return (
    <Tabs
      label="Trust"
      value={shown}
      onChange={(id) => go(`/trust/${id}`)}
      tabs={trustTabs.map(({ id, label, Icon, Content }) => ({
        id,
        label: (
          <span className="flex items-center gap-2">
            <Icon aria-hidden className="size-4" />
            {label}
          </span>
        ),
        content: (
          <ErrorBoundary key={session}>
            <Suspense fallback={<Skeleton rows={6} />}>
              <Content />
            </Suspense>
          </ErrorBoundary>
        ),
      }))}
    />
  );
}

function SignIn() {
  const { ask } = useOperator();
  return (
    <EmptyState
      icon={<KeyRound aria-hidden />}
      title="This page is for the operator"
      next="Accounts, policy, the audit log and secrets show up once you sign in."
      action={
        <Button variant="primary" onClick={() => void ask()}>
          Sign in as operator
        </Button>
      }
    />
  );
}

/** The tab that the address names. */
function useTab(): string {
  const path = useSyncExternalStore(watchPath, () => window.location.pathname);
  const named = path.split('/')[2];
  return (trustTabs.find(({ id }) => id === named) ?? trustTabs[0]).id;
}

function watchPath(onChange: () => void): () => void {
  window.addEventListener('popstate', onChange);
  return () => window.removeEventListener('popstate', onChange);
}

function go(path: string): void {
  window.history.pushState(null, '', path);
  window.dispatchEvent(new PopStateEvent('popstate'));
}
