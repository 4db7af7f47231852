import { mountPage } from '../../src/shell/mountPage.tsx';
import '../../src/styles.css';
import { KeyRound, type LucideIcon, Scale, ScrollText, ShieldAlert, Users } from 'lucide-react';
import { type ComponentType, lazy, Suspense } from 'react';
import { Skeleton } from '../../src/components/EmptyState.tsx';
import { Tabs } from '../../src/components/Table.tsx';
import { useOperator } from '../../src/operator/OperatorProvider.tsx';
import { ErrorBoundary } from '../../src/shell/ErrorBoundary.tsx';
import { goToPart, OperatorPage, usePart } from '../operatorPage.tsx';

/** The page at "/trust", the same on every service: who may do what, what was done, and what is weak. */
function TrustPage() {
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

interface TrustTab {
  /** Its address is /trust/<id>. */
  id: string;
  label: string;
  Icon: LucideIcon;
  Content: ComponentType;
}

/** The tabs of the page; the first is shown when none is named. To add one, write its file and name it here. */
const trustTabs: readonly [TrustTab, ...TrustTab[]] = [
  tab('people', 'People', Users, () => import('./PeopleTab.tsx')),
  tab('policy', 'Policy', Scale, () => import('./PolicyTab.tsx')),
  tab('audit', 'Audit', ScrollText, () => import('./AuditTab.tsx')),
  tab('secrets', 'Secrets', KeyRound, () => import('./SecretsTab.tsx')),
  tab('posture', 'Posture', ShieldAlert, () => import('./PostureTab.tsx')),
];

function tab(
  id: string,
  label: string,
  Icon: LucideIcon,
  load: () => Promise<{ default: ComponentType }>,
): TrustTab {
  return { id, label, Icon, Content: lazy(load) };
}

// Everything here is for the operator, who signs in: a key of the service is never asked for.
mountPage(<TrustPage />, { keyName: 'trunkline.trust.key', scheme: 'bearer', owner: 'this service' });
