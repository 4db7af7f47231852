import type { SetupStep } from '@trunkline/std';
import { AudioLines, Brain, type LucideIcon, MessagesSquare, Search, Sparkles } from 'lucide-react';
import { type ComponentType, lazy } from 'react';
import { SERVICE_NAMES, type ServiceName } from '../../src/shell/services.tsx';

export interface WizardStep {
  /** Its address is /setup/<id>. */
  id: SetupStep;
  label: string;
  Icon: LucideIcon;
  /** The services that have it; one of them shows it. */
  services: readonly ServiceName[];
  Content: ComponentType;
}

/** The steps in their order. To add one, write its file and name it here. */
export const wizardSteps: readonly WizardStep[] = [
  step('model', 'Model', Brain, SERVICE_NAMES, () => import('./ModelStep.tsx')),
  step('speech', 'Speech', AudioLines, ['voice'], () => import('./SpeechStep.tsx')),
  step('search', 'Search', Search, ['research'], () => import('./SearchStep.tsx')),
  step('connector', 'Connector', MessagesSquare, ['switchboard'], () => import('./ConnectorStep.tsx')),
  step('result', 'First result', Sparkles, ['agent', 'research', 'voice'], () => import('./ResultStep.tsx')),
];

function step(
  id: SetupStep,
  label: string,
  Icon: LucideIcon,
  services: readonly ServiceName[],
  load: () => Promise<{ default: ComponentType }>,
): WizardStep {
  return { id, label, Icon, services, Content: lazy(load) };
}
