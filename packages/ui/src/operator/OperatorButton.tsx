import { KeyRound, ShieldCheck } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from '../components/IconButton.tsx';
import { useOperator } from './OperatorProvider.tsx';
import type { OperatorStatus } from './operatorApi.ts';

/** How the shell shows whether this browser is the operator's; undefined where nobody needs to sign in. */
export function operatorWords({ name }: OperatorStatus): { label: string; icon: ReactNode } | undefined {
  if (name === 'signed-in') return { label: 'Operator: sign out', icon: <ShieldCheck aria-hidden /> };
  if (name === 'signed-out') return { label: 'Sign in as operator', icon: <KeyRound aria-hidden /> };
  return undefined;
}

export function OperatorButton() {
  const { status, ask } = useOperator();
  const words = operatorWords(status);
  if (words === undefined) return null;
  return <IconButton {...words} side="right" onClick={() => void ask()} />;
}
