import {
  Badge,
  Button,
  EmptyState,
  ErrorState,
  MarkdownView,
  Panel,
  Progress,
  SelectField,
  Skeleton,
  TextAreaField,
  useApi,
  useAttempt,
  useResource,
} from '@trunkline/ui';
import { Play, Users } from 'lucide-react';
import { useState } from 'react';
import type { Subagent } from '../../../turns/graph.ts';
import { useLive } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

const MAX_RUN_MS = 15 * 60_000;

/** Subagents: helpers that do one piece of work and cannot ask back. */
export default function HelpersPage() {
  const { body, error, reload } = useResource<{ subagents: Subagent[] }>('/api/subagents');
  useLive(['config'], reload);
  return (
    <PageFrame
      title="Helpers"
      intro="Subagents that the agent hands parts of its work to. You can give them work too."
    >
      {error && (
        <ErrorState what="The helpers could not be loaded." why={error.message} todo={error.advice} />
      )}
      {body === undefined && !error && <Skeleton rows={5} />}
      {body && body.subagents.length === 0 && (
        <EmptyState
          icon={<Users aria-hidden />}
          title="No helpers yet"
          next="List some under subagents in the settings."
          action={
            <a className="text-accent-text underline underline-offset-2" href="#/settings">
              Open the settings
            </a>
          }
        />
      )}
      {body && body.subagents.length > 0 && (
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <Panel title="Helpers" flush>
            <ul>
              {body.subagents.map((helper) => (
                <li key={helper.name} className="border-line border-b px-4 py-3 last:border-b-0">
                  <p className="font-medium">{helper.name}</p>
                  <p className="text-muted">{helper.description}</p>
                  <p className="mt-1 flex flex-wrap gap-1">
                    {(helper.tools ?? ['all tools']).map((tool) => (
                      <Badge key={tool}>{tool}</Badge>
                    ))}
                  </p>
                </li>
              ))}
            </ul>
          </Panel>
          <RunPanel helpers={body.subagents} />
        </div>
      )}
    </PageFrame>
  );
}

function RunPanel({ helpers }: { helpers: readonly Subagent[] }) {
  const api = useApi();
  const attempt = useAttempt();
  const [name, setName] = useState(helpers[0]?.name ?? '');
  const [prompt, setPrompt] = useState('');
  const [running, setRunning] = useState(false);
  const [result, setResult] = useState<{ ok: boolean; result: string }>();
  const run = async () => {
    setRunning(true);
    setResult(undefined);
    const path = `/api/subagents/${encodeURIComponent(name)}/run`;
    await attempt(async () => {
      setResult(await api.request(path, { body: { prompt: prompt.trim() }, timeLimitMs: MAX_RUN_MS }));
    });
    setRunning(false);
  };
  return (
    <Panel title="Give one some work">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (prompt.trim() !== '') void run();
        }}
      >
        <SelectField
          label="Helper"
          value={name}
          onChange={(event) => setName(event.target.value)}
          options={helpers.map((helper) => ({ value: helper.name, label: helper.name }))}
        />
        <TextAreaField label="Work" value={prompt} onChange={(event) => setPrompt(event.target.value)} />
        <div className="flex justify-end">
          <Button
            type="submit"
            variant="primary"
            busy={running}
            disabled={prompt.trim() === ''}
            icon={<Play aria-hidden />}
          >
            Run
          </Button>
        </div>
        {running && <Progress words={`${name} works`} />}
        {result?.ok && <MarkdownView text={result.result} className="text-14" />}
        {result && !result.ok && (
          <ErrorState
            what={`${name} could not do it.`}
            why={result.result}
            todo="Say it in other words, or give less."
          />
        )}
      </form>
    </Panel>
  );
}
