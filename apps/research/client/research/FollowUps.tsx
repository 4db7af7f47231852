import { Button, Progress, useApi, useResource } from '@trunkline/ui';
import { CornerDownLeft } from 'lucide-react';
import { useState } from 'react';
import type { Answer, CitedSource } from '../../api-types.ts';
import { CitedText } from '../citations/CitedText.tsx';
import { useAction } from '../lib/useAction.ts';

const ANSWER_LIMIT_MS = 600_000;

/** Questions about the report, answered from its stored sources alone. */
export function FollowUps({ id, sources }: { id: string; sources: readonly CitedSource[] }) {
  const path = `/api/research/deep/${id}/questions`;
  const { body, reload } = useResource<{ answers: Answer[] }>(path);
  const [asked, setAsked] = useState('');
  const api = useApi();
  const { busy, run } = useAction('The question could not be answered.');
  const ask = (question: string) => {
    setAsked(question);
    run(async () => {
      await api.request(path, { body: { question }, timeLimitMs: ANSWER_LIMIT_MS });
      reload();
    });
  };
  return (
    <section
      aria-labelledby="follow-ups"
      className="flex max-w-reading flex-col gap-6 border-line border-t pt-8"
    >
      <h2 id="follow-ups" className="text-20">
        Ask about this report
      </h2>
      {body?.answers.map((answer) => (
        <div key={answer.id} className="flex flex-col gap-2">
          <h3 className="text-16 break-words">{answer.question}</h3>
          <CitedText text={answer.text} claims={answer.claims} sources={sources} />
        </div>
      ))}
      {busy && <Progress words={`Reading the sources for “${asked}”`} />}
      <QuestionForm busy={busy} onAsk={ask} />
    </section>
  );
}

function QuestionForm({ busy, onAsk }: { busy: boolean; onAsk(question: string): void }) {
  const [text, setText] = useState('');
  const question = text.trim();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (question.length < 2 || busy) return;
        onAsk(question);
        setText('');
      }}
      className="flex items-center gap-2 rounded-corner border border-edge bg-raised p-1 pl-3 focus-within:outline-2 focus-within:outline-focus"
    >
      <input
        aria-label="A question about this report"
        value={text}
        maxLength={2000}
        placeholder="Answered from the sources that were read"
        onChange={(event) => setText(event.target.value)}
        className="h-9 min-w-0 flex-1 bg-transparent outline-none placeholder:text-muted pointer-coarse:text-16"
      />
      <Button
        type="submit"
        variant="primary"
        icon={<CornerDownLeft aria-hidden />}
        disabled={question.length < 2}
        busy={busy}
      >
        Ask
      </Button>
    </form>
  );
}
