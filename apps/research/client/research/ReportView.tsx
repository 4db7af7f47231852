import { Progress, useApi, useResource } from '@trunkline/ui';
import { type RefObject, useMemo, useRef, useState } from 'react';
import type { Answer, CitedSource, Claim } from '../../api-types.ts';
import { AskForm } from '../ask/AskForm.tsx';
import { CitedText } from '../citations/CitedText.tsx';
import { useAction } from '../lib/actions.ts';

const ANSWER_LIMIT_MS = 600_000;

interface ReportViewProps {
  report: string;
  claims: readonly Claim[];
  sources: readonly CitedSource[];
  streaming?: boolean;
}

/** The report with its table of contents beside it. */
export function ReportView({ report, claims, sources, streaming = false }: ReportViewProps) {
  const article = useRef<HTMLElement>(null);
  // The query is the title of the page already.
  const body = useMemo(() => report.replace(/^# .*\n+/, ''), [report]);
  const headings = useMemo(
    () => [...body.matchAll(/^## (.+?)(?:\s*\[\d*\??\])*$/gm)].map(([, words = '']) => words),
    [body],
  );
  return (
    <div className="grid items-start gap-8 xl:grid-cols-[minmax(0,1fr)_14rem]">
      <Contents headings={headings} article={article} />
      <article ref={article} aria-label="Report" aria-busy={streaming} className="min-w-0 xl:order-first">
        <h2 className="sr-only">Report</h2>
        <CitedText text={body} claims={claims} sources={sources} streaming={streaming} />
      </article>
    </div>
  );
}

interface ContentsProps {
  headings: readonly string[];
  article: RefObject<HTMLElement | null>;
}

function Contents({ headings, article }: ContentsProps) {
  if (headings.length < 2) return <div className="hidden xl:block" />;
  const show = (index: number) => {
    const found = article.current?.querySelectorAll('h3')[index];
    found?.scrollIntoView({ behavior: 'smooth', block: 'start' });
  };
  return (
    <nav aria-label="Contents" className="xl:sticky xl:top-8">
      <p className="pb-2 font-medium text-12 text-muted">Contents</p>
      <ol className="flex flex-col border-line border-l">
        {headings.map((words, index) => (
          <li key={words}>
            <button
              type="button"
              onClick={() => show(index)}
              className="w-full cursor-pointer border-transparent border-l-2 py-1 pl-3 text-left text-14 text-muted break-words transition-colors hover:border-accent-strong hover:text-ink"
            >
              {words}
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

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
      <AskForm
        label="A question about this report"
        placeholder="Answered from the sources that were read"
        action="Ask"
        busy={busy}
        onAsk={ask}
      />
    </section>
  );
}
