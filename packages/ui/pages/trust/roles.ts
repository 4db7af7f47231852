import type { AccountRole } from '@trunkline/std';

export const ROLES: readonly { value: AccountRole; label: string }[] = [
  { value: 'guest', label: 'Guest: talks to public agents' },
  { value: 'member', label: 'Member: uses agents and tools' },
  { value: 'operator', label: 'Operator: configures and approves' },
  { value: 'owner', label: 'Owner: everything, and appoints operators' },
];
