import type { SetupStep, SetupView, StepState } from '@trunkline/std';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { asApiError } from '../../src/api/api.ts';
import { Button } from '../../src/components/Button.tsx';
import { useLatest } from '../../src/hooks/useResource.ts';
import { useOperator } from '../../src/operator/OperatorProvider.tsx';
import type { ServiceLink, ServiceName } from '../../src/shell/services.tsx';
import type { HealthModel } from '../../src/status/health.ts';

interface Setup {
  view: SetupView;
  places: Places;
  /** The model of this service as it is now. */
  model: HealthModel | undefined;
  /** Puts in what a change answered. */
  show(view: SetupView): void;
  mark(state: Exclude<StepState, 'open'>, result?: string): Promise<void>;
  /** The step that is shown, and the ways on from it. */
  step: SetupStep;
  goBack: (() => void) | undefined;
  goOn: (() => void) | undefined;
}

export const SetupContext = createContext<Setup | null>(null);

export function useSetup(): Setup {
  const setup = useContext(SetupContext);
  if (setup === null) throw new Error('useSetup needs a SetupContext around the step');
  return setup;
}

interface StepFrameProps {
  title: string;
  intro: ReactNode;
  children: ReactNode;
}

/** One step: what it is for, its content, and the way on. */
export function StepFrame({ title, intro, children }: StepFrameProps) {
  const { view, step, mark, goBack, goOn } = useSetup();
  const { status } = useOperator();
  const [busy, setBusy] = useState(false);
  const isDone = view.steps[step] === 'done';
  const skip = async () => {
    setBusy(true);
    if (view.steps[step] === 'open') await mark('skipped');
    setBusy(false);
    if (goOn === undefined) window.location.assign(status.home);
    else goOn();
  };
  return (
    <section aria-labelledby="step-title" className="flex min-w-0 flex-col gap-6">
      <header>
        <h2 id="step-title" className="text-20">
          {title}
        </h2>
        <p className="max-w-2xl text-14 text-muted">{intro}</p>
      </header>
      {children}
      <footer className="flex flex-wrap items-center gap-2 border-line border-t pt-4">
        {goBack && (
          <Button variant="quiet" onClick={goBack}>
            Back
          </Button>
        )}
        <span className="flex-1" />
        <Button variant={isDone ? 'primary' : 'secondary'} busy={busy} onClick={() => void skip()}>
          {wayWords(isDone, view.steps[step] === 'skipped', goOn === undefined)}
        </Button>
      </footer>
    </section>
  );
}

function wayWords(isDone: boolean, isSkipped: boolean, isLast: boolean): string {
  if (isLast) return isDone ? 'Finish' : 'Finish without it';
  return isDone ? 'Continue' : isSkipped ? 'Go on' : 'Skip this step';
}

/** A request that takes a while: busy while it runs, and its answer or what went wrong. */
export interface Work<Answer> {
  busy: boolean;
  answer: Answer | undefined;
  problem: { message: string; advice: string } | undefined;
  run(work: (signal: AbortSignal) => Promise<Answer>): void;
  clear(): void;
}

export function useWork<Answer>(): Work<Answer> {
  const [state, setState] = useState<Omit<Work<Answer>, 'run' | 'clear'>>(IDLE);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const clear = () => {
    running.current?.abort();
    setState(IDLE);
  };
  const run = (work: (signal: AbortSignal) => Promise<Answer>) => {
    running.current?.abort();
    const current = new AbortController();
    running.current = current;
    setState({ ...IDLE, busy: true });
    void work(current.signal)
      .then((answer) => ({ ...IDLE, answer }))
      .catch((error: unknown) => {
        const { message, advice } = asApiError(error);
        return { ...IDLE, problem: { message, advice } };
      })
      .then((next) => {
        if (!current.signal.aborted) setState(next);
      });
  };
  return { ...state, run, clear };
}

const IDLE = { busy: false, answer: undefined, problem: undefined };

const POLL_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** Waits until the service, which restarts itself when its settings change, shows what was saved. */
export function useSettled(): <Body>(path: string, isThere: (body: Body) => boolean) => Promise<Body> {
  const api = useLatest(useApi());
  return async <Body,>(path: string, isThere: (body: Body) => boolean) => {
    const end = Date.now() + LONGEST_WAIT_MS;
    for (;;) {
      // While it restarts, nobody answers.
      const body = await api.current.request<Body>(path).catch((error: unknown) => {
        if (Date.now() > end) throw error;
        return undefined;
      });
      if (body !== undefined && isThere(body)) return body;
      if (Date.now() > end)
        throw new Error('The service has not taken the change up. Its log says why; the settings are saved.');
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
}

/** Where parts of the setup are: on this service, or on one that runs with it. */
export interface Places {
  own: ServiceName | undefined;
  links: readonly ServiceLink[];
}

/** The address of a part of the setup on one of these services, this one first; undefined where none of them runs. */
export function addressOf(
  part: string,
  services: readonly ServiceName[],
  places: Places,
): string | undefined {
  if (places.own !== undefined && services.includes(places.own)) return `/setup/${part}`;
  const url = services
    .map((name) => places.links.find((link) => link.name === name && link.state !== 'failed')?.url)
    .find((found) => found !== undefined);
  return url === undefined ? undefined : new URL(`/setup/${part}`, url).href;
}
