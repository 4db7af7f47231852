import { Badge, type JsonSchema, useApi, useAttempt, useToast } from '@trunkline/ui';
import { Users } from 'lucide-react';
import { type Delegate, useConfig, useLive } from '../../app/live.ts';
import { ConnectionList, linesOf, NAME } from './ConnectionList.tsx';

const TRIAL_MS = 70_000;

const FORM: JsonSchema = {
  type: 'object',
  required: ['name', 'type'],
  properties: {
    name: NAME,
    type: {
      title: 'Kind',
      default: 'a2a',
      oneOf: [
        { const: 'a2a', title: 'An agent that speaks A2A' },
        { const: 'compat', title: 'A model with an OpenAI-compatible API' },
        { const: 'acp', title: 'A coding agent that runs as a process (ACP)' },
      ],
    },
    description: { type: 'string', title: 'What it is good at' },
    url: { type: 'string', title: 'Address', format: 'uri', description: 'For A2A and models.' },
    model: { type: 'string', title: 'Model', description: 'For models.' },
    command: { type: 'string', title: 'Command', description: 'For coding agents.' },
    args: { type: 'array', title: 'Arguments', items: { type: 'string' }, description: 'For coding agents.' },
    token: { type: 'string', title: 'Token', format: 'password' },
  },
};

/** Other agents and models that the agent hands work to. */
export function DelegatesTab() {
  const { config, change, reload } = useConfig();
  useLive(['config'], reload);
  return (
    <ConnectionList
      title="Delegates"
      detail="The agent asks them with delegate_to."
      noun="Delegate"
      what="a delegate"
      empty={{
        icon: <Users aria-hidden />,
        title: 'No delegates yet',
        next: 'Add another agent by its address, a model, or a coding agent that runs as a process.',
      }}
      entries={config?.delegates}
      path={['delegates']}
      change={change}
      schema={FORM}
      toEntry={({ args, ...rest }) => ({ ...rest, args: linesOf(args) })}
      onTest={useTrial()}
      canTest={({ enabled }) => enabled}
      show={({ type, description, url, command }: Delegate) => ({
        lead: <Badge>{type}</Badge>,
        body: (
          <>
            <p className="text-muted">{description}</p>
            <p className="truncate font-mono text-12 text-muted">{url ?? command}</p>
          </>
        ),
      })}
    />
  );
}

// Asks the delegate whether it is there.
function useTrial() {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  return async ({ name }: Delegate): Promise<void> => {
    await attempt(async () => {
      const path = `/api/delegates/${encodeURIComponent(name)}/test`;
      const request = { body: {}, timeLimitMs: TRIAL_MS };
      const { ok, answer } = await api.request<{ ok: boolean; answer: string }>(path, request);
      const title = ok ? `${name} answers.` : `${name} does not answer.`;
      toast({ title, detail: answer.slice(0, 200), state: ok ? 'live' : 'failed' });
    });
  };
}
