import {
  Badge,
  Button,
  EmptyState,
  ErrorState,
  Loaded,
  MarkdownView,
  Panel,
  Progress,
  SchemaForm,
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
  const resource = useResource<{ subagents: Subagent[] }>('/api/subagents');
  useLive(['config'], resource.reload);
  return (
    <PageFrame
      title="Helpers"
      intro="Subagents that the agent hands parts of its work to. You can give them work too."
    >
      <Loaded resource={resource} failed="The helpers could not be loaded." rows={5}>
        {({ subagents }) => (subagents.length === 0 ? <NoHelpers /> : <Helpers helpers={subagents} />)}
      </Loaded>
    </PageFrame>
  );
}

function NoHelpers() {
  return (
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
  );
}

function Helpers({ helpers }: { helpers: readonly Subagent[] }) {
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Panel title="Helpers" hideTitle flush>
        <ul>
          {helpers.map(({ name, description, tools = ['all tools'] }) => (
            <li key={name} className="border-line border-b px-4 py-3 last:border-b-0">
              <p className="font-medium">{name}</p>
              <p className="text-muted">{description}</p>
              <p className="mt-1 flex flex-wrap gap-1">
                {tools.map((tool) => (
                  <Badge key={tool}>{tool}</Badge>
                ))}
              </p>
            </li>
          ))}
        </ul>
      </Panel>
      <RunPanel names={helpers.map(({ name }) => name)} />
    </div>
  );
}

function RunPanel({ names }: { names: readonly string[] }) {
  const api = useApi();
  const attempt = useAttempt();
  const [running, setRunning] = useState<string>();
  const [result, setResult] = useState<{ name: string; ok: boolean; result: string }>();
  const run = async ({ name, prompt }: Readonly<Record<string, unknown>>) => {
    const helper = String(name);
    setRunning(helper);
    setResult(undefined);
    const path = `/api/subagents/${encodeURIComponent(helper)}/run`;
    await attempt(async () => {
      const request = { body: { prompt }, timeLimitMs: MAX_RUN_MS };
      const done = await api.request<{ ok: boolean; result: string }>(path, request);
      setResult({ name: helper, ...done });
    });
    setRunning(undefined);
  };
  return (
    <Panel title="Give one some work">
      <div className="flex flex-col gap-4">
        <SchemaForm
          schema={orderForm(names)}
          onSubmit={(values) => void run(values)}
          actions={
            <Button type="submit" variant="primary" busy={running !== undefined} icon={<Play aria-hidden />}>
              Run
            </Button>
          }
        />
        {running && <Progress words={`${running} works`} />}
        {result?.ok && <MarkdownView text={result.result} className="text-14" />}
        {result && !result.ok && (
          <ErrorState
            what={`${result.name} could not do it.`}
            why={result.result}
            todo="Say it in other words, or give less."
          />
        )}
      </div>
    </Panel>
  );
}

function orderForm(names: readonly string[]) {
  return {
    type: 'object',
    required: ['name', 'prompt'],
    properties: {
      name: { title: 'Helper', enum: [...names], default: names[0] },
      prompt: { type: 'string', title: 'Work', maxLength: 200_000 },
    },
  };
}
