import { KeyRound, type LucideIcon, Scale, ScrollText, ShieldAlert, Users } from 'lucide-react';
import { type ComponentType, lazy } from 'react';

interface TrustTab {
  /** Its address is /trust/<id>. */
  id: string;
  label: string;
  Icon: LucideIcon;
  Content: ComponentType;
}

/** The tabs of the page; the first is shown when none is named. To add one, write its file and name it here. */
export const trustTabs: readonly [TrustTab, ...TrustTab[]] = [
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
