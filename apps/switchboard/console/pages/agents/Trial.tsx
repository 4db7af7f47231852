import { offlineSuggestions } from '@trunkline/std';
import {
  asApiError,
  Button,
  hashRoute,
  NotSent,
  Panel,
  Progress,
  randomId,
  SelectField,
  Suggestions,
  TextAreaField,
  useApi,
} from '@trunkline/ui';
import { Send } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import type { AgentView } from '../../../api-types.ts';
import { useBus } from '../../shared/live.ts';
import { fitsPattern } from '../../shared/topics.ts';
import type { Answered } from './Said.tsx';

const MOST_ANSWERS = 50;

export function Trial({ agent }: { agent: AgentView }) {
  const api = useApi();
  const [failed, setFailed] = useState<{ id: string; why: string }>();
  const [sending, setSending] = useState(false);
  const [skill, setSkill] = useState('');
  const [content, setContent] = useState('');
  const [asked, setAsked] = useState<string>();
  const answers = useAnswers();
  const chosen = skill || (agent.skills[0]?.name ?? '');
  const answer = asked === undefined ? undefined : answers.get(asked);
  // The bus takes a message once, however often it comes under one id.
  const send = async (id: string = randomId()) => {
    const payload = { agent: agent.name, skillHint: chosen, content: content.trim() };
    const body = { id, topic: 'agent.skill.request', payload, correlationId: id };
    setSending(true);
    try {
      setAsked((await api.request<{ correlationId: string }>('/publish', { body })).correlationId);
      setFailed(undefined);
    } catch (error) {
      setFailed({ id, why: asApiError(error).message });
    }
    setSending(false);
  };
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
        <TextAreaField
          label="Message"
          value={content}
          onChange={(event) => {
            setContent(event.target.value);
            setFailed(undefined);
          }}
        />
        {content === '' && asked === undefined && (
          <Suggestions label="Suggestions" texts={offlineSuggestions} onChoose={setContent} />
        )}
        {failed && <NotSent why={failed.why} busy={sending} onRetry={() => void send(failed.id)} />}
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
            disabled={sending || content.trim() === '' || chosen === '' || (asked !== undefined && !answer)}
          >
            Send it
          </Button>
        </div>
        {asked !== undefined && !answer && <Progress words={`${agent.name} works`} />}
        <Suspense>{answer && <Said answer={answer} name={agent.name} />}</Suspense>
      </form>
    </Panel>
  );
}

const Said = lazy(async () => ({ default: (await import('./Said.tsx')).Said }));

// By correlation; an answer may come before the request is confirmed.
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
