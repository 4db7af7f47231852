import { duration, ErrorState, MarkdownView } from '@trunkline/ui';

export interface Answered {
  content: string;
  error?: string;
  durationMs: number;
}

export function Said({ answer, name }: { answer: Answered; name: string }) {
  if (answer.error !== undefined)
    return (
      <ErrorState
        what={`${name} could not do it.`}
        why={answer.error}
        todo="Its flow shows every step. Fix the cause, then send it again."
      />
    );
  return (
    <div role="status" className="rounded-corner border border-line bg-sunken p-4">
      <MarkdownView text={answer.content} className="text-14" />
      <p className="mt-2 font-mono text-12 text-muted">{duration(answer.durationMs)}</p>
    </div>
  );
}
