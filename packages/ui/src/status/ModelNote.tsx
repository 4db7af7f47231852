import { Badge } from '../components/Badge.tsx';
import type { Health, HealthModel } from './health.ts';

/** Whether a real model answers. */
export function ModelBadge({ model: { demo } }: { model: Pick<HealthModel, 'demo'> }) {
  return demo ? <Badge tone="accent">Offline demo</Badge> : <Badge tone="live">Real model</Badge>;
}

interface DemoNoteProps {
  health: Pick<Health, 'model'> | undefined;
  /** Where a real model is set up; without it the variable is named. */
  href?: string;
}

/** For a first page: says that the demo model answers, while no other is set up. */
export function DemoNote({ health, href }: DemoNoteProps) {
  if (!health?.model?.demo) return null;
  return (
    <p className="text-14 text-muted text-balance">
      <ModelBadge model={health.model} /> A small demo model answers.{' '}
      {href === undefined ? (
        <>
          Set <code className="text-12">LLM_GATEWAY_URL</code> for a real one.
        </>
      ) : (
        <a href={href} className="text-accent-text underline underline-offset-2">
          Set up a real model
        </a>
      )}
    </p>
  );
}
