import type { SetupStep, SetupSteps, SetupView, StepState } from '@trunkline/std';
import {
  AudioLines,
  Brain,
  Check,
  type LucideIcon,
  MessagesSquare,
  Minus,
  Search,
  SlidersHorizontal,
  Sparkles,
} from 'lucide-react';
import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Skeleton } from '../../src/components/EmptyState.tsx';
import { Loaded } from '../../src/components/Panel.tsx';
import { useResource, useSend } from '../../src/hooks/useResource.ts';
import { cn } from '../../src/lib/cn.ts';
import { useOperator } from '../../src/operator/OperatorProvider.tsx';
import { ErrorBoundary } from '../../src/shell/ErrorBoundary.tsx';
import { mountPage } from '../../src/shell/mountPage.tsx';
import { SERVICE_NAMES, type ServiceName } from '../../src/shell/services.tsx';
import type { Health } from '../../src/status/health.ts';
import { goToPart, OperatorPage, usePart } from '../operatorPage.tsx';
import { addressOf, type Places, SetupContext } from './setup.tsx';
import '../../src/styles.css';

// Everything here is for the operator, who signs in: a key of the service is never asked for.
mountPage(<SetupPage />, { keyName: 'trunkline.setup.key', scheme: 'bearer', owner: 'this service' });

const SettingsTab = lazy(() => import('./SettingsTab.tsx'));

const WORDS: Record<StepState, string> = { done: 'done', skipped: 'skipped', open: 'not set up' };

/** The page at "/setup", the same on every service: a first set-up step by step, and every setting. */
function SetupPage() {
  const { session } = useOperator();
  return (
    <OperatorPage
      title="Setup"
      intro="Each step can be skipped and found again here. What you save counts at once."
      withheld="Model, speech, search, connectors and all settings show up once you sign in."
    >
      {(health) => <Wizard key={session} health={health} />}
    </OperatorPage>
  );
}

function Wizard({ health }: { health: Health | undefined }) {
  const resource = useResource<SetupView>('/operator/setup');
  const { status } = useOperator();
  const [changed, setChanged] = useState<SetupView>();
  const part = usePart();
  const view = changed ?? resource.body;
  // While a service restarts nobody tells where the others are; the steps stay.
  const known = useRef<Places['links']>([]);
  if (health !== undefined) known.current = health.services;
  const places: Places = { own: status.service, links: known.current };
  return (
    <div className="grid gap-6 md:grid-cols-[12rem_minmax(0,1fr)] md:gap-10">
      <StepList view={view && withoutTick(view, health)} places={places} part={part} />
      <ErrorBoundary key={part}>
        <Suspense fallback={<Skeleton rows={6} />}>
          {part === 'settings' ? (
            <SettingsTab />
          ) : (
            <Loaded resource={{ ...resource, body: view }} failed="The setup could not be loaded.">
              {(loaded) => (
                <Step view={loaded} places={places} model={health?.model} part={part} onChange={setChanged} />
              )}
            </Loaded>
          )}
        </Suspense>
      </ErrorBoundary>
    </div>
  );
}

/** A model that cannot be used is not done. */
function withoutTick(view: SetupView, health: Health | undefined): SetupView {
  if (health?.model?.problem === undefined) return view;
  return { ...view, steps: { ...view.steps, model: 'open' } };
}

interface StepProps {
  view: SetupView;
  places: Places;
  model: Health['model'];
  part: string | undefined;
  onChange(view: SetupView): void;
}

function Step({ view, places, model, part, onChange }: StepProps) {
  const api = useApi();
  const send = useSend();
  const reachable = stepsAt(places);
  const at = Math.max(
    0,
    reachable.findIndex(({ step: { id } }) => id === part),
  );
  const shown = reachable[at];
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step begins at its top
  useEffect(() => void window.scrollTo({ top: 0 }), [at]);
  if (shown === undefined) return null;
  const { id, Content } = shown.step;
  const mark = async (state: Exclude<StepState, 'open'>, result?: string) => {
    const body: SetupSteps = { steps: { [id]: state }, ...(result !== undefined && { result }) };
    await send('/operator/setup/steps', { method: 'PUT', body });
    onChange(await api.request<SetupView>('/operator/setup'));
  };
  const way = (to: (typeof reachable)[number] | undefined) => to && (() => open(to.href));
  return (
    <SetupContext
      value={{
        view,
        places,
        model,
        show: onChange,
        mark,
        step: id,
        goBack: way(reachable[at - 1]),
        goOn: way(reachable[at + 1]),
      }}
    >
      <Content />
    </SetupContext>
  );
}

/** The steps that can be done here or at a service that runs with this one. */
function stepsAt(places: Places): { step: WizardStep; href: string }[] {
  return wizardSteps.flatMap((step) => {
    const href = addressOf(step.id, step.services, places);
    return href === undefined ? [] : [{ step, href }];
  });
}

/** A part on another service is another page. */
function open(href: string): void {
  if (href.startsWith('/')) goToPart(href);
  else window.location.assign(href);
}

interface StepListProps {
  view: SetupView | undefined;
  places: Places;
  part: string | undefined;
}

function StepList({ view, places, part }: StepListProps) {
  const reachable = stepsAt(places);
  const current =
    part === 'settings' ? part : (reachable.find(({ step }) => step.id === part)?.step.id ?? 'model');
  const list = useRef<HTMLOListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step is another link
  useEffect(() => {
    const link = list.current?.querySelector<HTMLElement>('[aria-current]');
    // Not scrollIntoView, which would scroll the page too.
    if (list.current && link)
      list.current.scrollLeft = link.offsetLeft - (list.current.clientWidth - link.offsetWidth) / 2;
  }, [current, reachable.length]);
  return (
    <nav aria-label="Setup" className="min-w-0">
      <ol ref={list} className="relative flex gap-1 overflow-x-auto pb-1 md:sticky md:top-6 md:flex-col">
        {reachable.map(({ step: { id, label }, href }, index) => (
          <li key={id} className="shrink-0">
            <NavLink href={href} isCurrent={current === id}>
              <StateMark state={view?.steps[id as SetupStep] ?? 'open'} number={index + 1} />
              {label}
              <span className="sr-only">{view && `, ${WORDS[view.steps[id]]}`}</span>
            </NavLink>
          </li>
        ))}
        <li className="shrink-0 border-line max-md:border-l max-md:pl-1 md:mt-2 md:border-t md:pt-2">
          <NavLink href="/setup/settings" isCurrent={current === 'settings'}>
            <SlidersHorizontal aria-hidden className="size-4 shrink-0" />
            All settings
          </NavLink>
        </li>
      </ol>
    </nav>
  );
}

function NavLink({ href, isCurrent, children }: { href: string; isCurrent: boolean; children: ReactNode }) {
  return (
    <a
      href={href}
      aria-current={isCurrent ? 'step' : undefined}
      onClick={(event) => {
        if (!href.startsWith('/') || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        goToPart(href);
      }}
      className={cn(
        'flex h-10 items-center gap-2.5 rounded-corner px-2.5 text-14 whitespace-nowrap text-muted transition-colors hover:bg-hover hover:text-ink',
        'aria-[current=step]:bg-hover aria-[current=step]:font-medium aria-[current=step]:text-ink pointer-coarse:h-11',
      )}
    >
      {children}
    </a>
  );
}

function StateMark({ state, number }: { state: StepState; number: number }) {
  return (
    <span
      aria-hidden
      className={cn(
        'inline-flex size-5 shrink-0 items-center justify-center rounded-full border text-12 [&_svg]:size-3',
        state === 'done' ? 'border-transparent bg-live-wash text-live-text' : 'border-line-strong',
      )}
    >
      {state === 'done' && <Check strokeWidth={3} />}
      {state === 'skipped' && <Minus />}
      {state === 'open' && number}
    </span>
  );
}

interface WizardStep {
  /** Its address is /setup/<id>. */
  id: SetupStep;
  label: string;
  Icon: LucideIcon;
  /** The services that have it; one of them shows it. */
  services: readonly ServiceName[];
  Content: ComponentType;
}

/** The steps in their order. To add one, write its file and name it here. */
const wizardSteps: readonly WizardStep[] = [
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
