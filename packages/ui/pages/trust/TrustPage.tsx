import { Suspense } from 'react';
import { Skeleton } from '../../src/components/EmptyState.tsx';
import { Tabs } from '../../src/components/Table.tsx';
import { useOperator } from '../../src/operator/OperatorProvider.tsx';
import { ErrorBoundary } from '../../src/shell/ErrorBoundary.tsx';
import { goToPart, OperatorPage, usePart } from '../operatorPage.tsx';
import { trustTabs } from './tabs.tsx';

/** The page at "/trust", the same on every service: who may do what, what was done, and what is weak. */
export function TrustPage() {
  return (
    <OperatorPage
      title="Trust"
      intro="Who may do what in this installation, what was done, and what is weak."
      withheld="Accounts, policy, the audit log and secrets show up once you sign in."
    >
      {() => <TabContent />}
    </OperatorPage>
  );
}

function TabContent() {
  const { session } = useOperator();
  const named = usePart();
  const shown = (trustTabs.find(({ id }) => id === named) ?? trustTabs[0]).id;
  return (
    <Tabs
      label="Trust"
      value={shown}
      onChange={(id) => goToPart(`/trust/${id}`)}
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
