import {
  Button,
  duration,
  ErrorState,
  hashRoute,
  MarkdownView,
  Panel,
  Progress,
  SelectField,
  TextAreaField,
  useApi,
  useAttempt,
} from '@trunkline/ui';
import { Send } from 'lucide-react';
import { useState } from 'react';
import { useBus } from '../../shared/live.ts';
import { fitsPattern } from '../../shared/topics.ts';
import type { Agent } from '../../shared/wire.ts';

interface Answered {
  content: string;
  error?: string;
  durationMs: number;
}

const MOST_ANSWERS = 50;

/** Sends an agent a message and shows what it says. */
export function Trial({ agent }: { agent: Agent }) {
  const api = useApi();
  const attempt = useAttempt();
  const [skill, setSkill] = useState('');
  const [content, setContent] = useState('');
  const [asked, setAsked] = useState<string>();
  const answers = useAnswers();
  const chosen = skill || (agent.skills[0]?.name ?? '');
  const answer = asked === undefined ? undefined : answers.get(asked);
  const send = () =>
    attempt(async () => {
      const payload = { agent: agent.name, skillHint: chosen, content: content.trim() };
      const body = { topic: 'agent.skill.request', payload };
      setAsked((await api.request<{ correlationId: string }>('/publish', { body })).correlationId);
    });
  return (
    <Panel title="Try it" detail="Sends a message as a request for one of its skills.">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (content.trim() !== '') void send();
        }}
      >
        <SelectField
          label="Skill"
          value={chosen}
          onChange={(event) => setSkill(event.target.value)}
          options={agent.skills.map(({ name }) => ({ value: name, label: name }))}
        />
        <TextAreaField label="Message" value={content} onChange={(event) => setContent(event.target.value)} />
        <div className="flex flex-wrap items-center justify-between gap-2">
          {asked !== undefined ? (
            <a
              className="text-accent-text underline underline-offset-2"
              href={hashRoute('flows', `skill-${asked}`)}
            >
              Show the flow
            </a>
          ) : (
            <span />
          )}
          <Button
            type="submit"
            variant="primary"
            icon={<Send aria-hidden />}
            disabled={content.trim() === '' || chosen === '' || (asked !== undefined && !answer)}
          >
            Send it
          </Button>
        </div>
        {asked !== undefined && !answer && <Progress words={`${agent.name} works`} />}
        {answer && <Said answer={answer} name={agent.name} />}
      </form>
    </Panel>
  );
}

function Said({ answer, name }: { answer: Answered; name: string }) {
  if (answer.error !== undefined)
    return (
      <ErrorState
        what={`${name} could not do it.`}
        why={answer.error}
        todo="Its flow shows every step; mend the cause and send it again."
      />
    );
  return (
    <div role="status" className="rounded-corner border border-line bg-sunken p-4">
      <MarkdownView text={answer.content} className="text-14" />
      <p className="mt-2 font-mono text-12 text-muted">{duration(answer.durationMs)}</p>
    </div>
  );
}

// Answers by their correlation; one may come before the request for it is known to be taken.
function useAnswers(): ReadonlyMap<string, Answered> {
  const [answers, setAnswers] = useState<ReadonlyMap<string, Answered>>(new Map());
  useBus(({ topic, correlationId, payload }) => {
    if (!fitsPattern('agent.skill.response.*', topic)) return;
    setAnswers(
      (before) => new Map([...before, [correlationId, payload as Answered] as const].slice(-MOST_ANSWERS)),
    );
  });
  return answers;
}
