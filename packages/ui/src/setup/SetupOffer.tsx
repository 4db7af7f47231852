import type { SetupView } from '@trunkline/std';
import { Settings, Sparkles } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClass } from '../components/Button.tsx';
import { useResource, useSend } from '../hooks/useResource.ts';
import { useOperator } from '../operator/OperatorProvider.tsx';

/** Where models, speech, search and connectors are set up, and all settings are; the same page on every service. */
export const SETUP = { label: 'Setup', href: '/setup', icon: <Settings aria-hidden /> };

/** Offers the operator to set things up while nothing is, until they say no. */
export function SetupOffer() {
  const { status } = useOperator();
  const isOperator = status.service !== undefined && (status.name === 'signed-in' || status.name === 'open');
  const isSetup = window.location.pathname.startsWith(`${SETUP.href}/`);
  return isOperator && !isSetup ? <Offer /> : null;
}

function Offer() {
  const { body } = useResource<SetupView>('/operator/setup');
  const send = useSend();
  const [isOver, setOver] = useState(false);
  if (body === undefined || isOver || !isUntouched(body)) return null;
  const dismiss = () => {
    setOver(true);
    const steps = Object.fromEntries(Object.keys(body.steps).map((step) => [step, 'skipped']));
    void send('/operator/setup/steps', { method: 'PUT', body: { steps } });
  };
  return (
    <section
      aria-label="Setup"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-b bg-accent-wash px-4 py-2 sm:px-8"
    >
      <Sparkles aria-hidden className="size-4 shrink-0 text-accent-text max-sm:hidden" />
      <p className="min-w-0 flex-1 basis-64 text-14">
        <span className="font-medium">Set up a model, a voice and more in a few minutes.</span>{' '}
        <span className="text-muted max-lg:hidden">Until then a small demo model answers.</span>
      </p>
      <div className="flex gap-2">
        <a href={SETUP.href} className={buttonClass({ variant: 'primary', size: 'small' })}>
          Set up
        </a>
        <Button size="small" variant="quiet" onClick={dismiss}>
          Do not ask again
        </Button>
      </div>
    </section>
  );
}

function isUntouched({ steps, roles, overrides, file }: SetupView): boolean {
  const isModelSet = Object.keys(roles).length > 0 || overrides.length > 0 || file !== undefined;
  return !isModelSet && Object.values(steps).every((state) => state === 'open');
}
