import { morningDigest, morningDigestJob } from '@trunkline/std';
import { type ReactNode, useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { type Api, ApiError } from '../../src/api/api.ts';
import { Button } from '../../src/components/Button.tsx';
import { TextField } from '../../src/components/Field.tsx';
import { MarkdownView } from '../../src/components/MarkdownView.tsx';
import { Panel } from '../../src/components/Panel.tsx';
import { RelativeTime } from '../../src/components/RelativeTime.tsx';
import { hashRoute } from '../../src/hooks/useHashRoute.ts';
import { browserTimezone } from '../../src/lib/browser.ts';
import { Busy, Note, Trouble } from './parts.tsx';
import { useSetup, useWork } from './setup.tsx';

const POLL_MS = 500;

interface NewJob {
  job: { id: string; next: string };
}

/** What is shown of a turn of the chat: see ChatTurn of the agent. */
interface Turn {
  task_id: string;
  state: string;
  entries: { kind: string; text?: string; name?: string; phase?: string; failed?: boolean }[];
}

/** Schedules a digest, and writes the first one while the person looks on. */
export function DigestResult() {
  const api = useApi();
  const { mark } = useSetup();
  const [time, setTime] = useState(morningDigest.time);
  const [topics, setTopics] = useState(morningDigest.topics);
  const [turn, setTurn] = useState<Turn>();
  const planning = useWork<NewJob['job']>();
  const writing = useWork<Turn>();
  const start = () => {
    setTurn(undefined);
    writing.clear();
    planning.run(async () => {
      const body = morningDigestJob({ time, topics, timezone: browserTimezone() });
      const { job } = await api.request<NewJob>('/api/scheduler/jobs', { body });
      await mark('done', 'digest');
      writing.run((signal) => write(api, body.prompt, { signal, onChange: setTurn }));
      return job;
    });
  };
  return (
    <Panel
      title="A morning digest"
      detail="The agent looks through notes, tasks and the web, and writes a page: the first one now."
    >
      <div className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-[8rem_minmax(0,1fr)]">
          <TextField
            label="Every day at"
            type="time"
            required
            hint={browserTimezone()}
            value={time}
            onChange={(event) => setTime(event.target.value)}
          />
          <TextField
            label="News about"
            maxLength={200}
            value={topics}
            onChange={(event) => setTopics(event.target.value)}
          />
        </div>
        <div>
          <Button
            variant="primary"
            busy={planning.busy || writing.busy}
            disabled={time === ''}
            onClick={start}
          >
            Write it now, and every day
          </Button>
        </div>
        <Trouble work={planning} what="The digest was not scheduled." />
        {writing.busy && <Busy>{progressOf(turn)}</Busy>}
        <Trouble work={writing} what="The first digest was not written." />
        {turn && <Digest turn={turn} isWritten={!writing.busy} />}
        {planning.answer && (
          <Note state="live" title="Your morning digest is scheduled.">
            The next one comes <RelativeTime at={Date.parse(planning.answer.next)} />, into the same chat.{' '}
            <TextLink href="/app#/schedules">See the schedule</TextLink>
          </Note>
        )}
      </div>
    </Panel>
  );
}

/** What is written so far; a question that stops the work is answered in the chat. */
function Digest({ turn, isWritten }: { turn: Turn; isWritten: boolean }) {
  const text = turn.entries.flatMap(({ kind, text = '' }) => (kind === 'text' ? text : [])).join('\n\n');
  const question = isWritten && turn.entries.findLast(({ kind }) => kind === 'question')?.text;
  const chat = <TextLink href={`/${hashRoute('chat', morningDigest.id)}`}>Open the chat</TextLink>;
  return (
    <>
      {text !== '' && (
        <section
          aria-label="Your first digest"
          className="flex flex-col gap-3 rounded-corner border border-line-strong bg-raised p-4"
        >
          <MarkdownView text={text} streaming={!isWritten} className="text-14" />
          {isWritten && <p className="text-14">{chat}</p>}
        </section>
      )}
      {question && (
        <Note state="waiting" title="The agent asks something before it goes on.">
          {question} {chat}
        </Note>
      )}
    </>
  );
}

interface Writing {
  signal: AbortSignal;
  onChange(turn: Turn): void;
}

/** Says the prompt in the chat of the digests, and waits until the turn rests. */
async function write(api: Api, prompt: string, { signal, onChange }: Writing): Promise<Turn> {
  const chat = `/api/chat/sessions/${morningDigest.id}`;
  const body = { text: prompt, timezone: browserTimezone() };
  const { task_id } = await api.request<{ task_id: string }>(`${chat}/messages`, { body, signal });
  for (;;) {
    const path = `${chat}?limit=1&task=${encodeURIComponent(task_id)}`;
    const { turns } = await api.request<{ turns: Turn[] }>(path, { signal });
    const turn = turns.find((each) => each.task_id === task_id);
    if (turn) onChange(turn);
    if (turn && !/^(?:submitted|working)$/.test(turn.state)) {
      const failure = turn.entries.findLast(({ failed }) => failed)?.text;
      if (/^(?:failed|rejected|canceled)$/.test(turn.state))
        throw new ApiError({
          status: 0,
          code: 'TURN_FAILED',
          message: failure ?? `The turn was ${turn.state}.`,
          advice: 'Try again, or test the model in the step Model.',
        });
      return turn;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function progressOf(turn: Turn | undefined): string {
  const tool = turn?.entries.findLast(({ kind }) => kind === 'tool');
  if (tool?.name === undefined) return 'Writing your first digest';
  return `Writing your first digest: ${tool.name} ${tool.phase === 'started' ? 'runs' : 'is done'}`;
}

function TextLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} className="text-accent-text underline underline-offset-2">
      {children}
    </a>
  );
}
