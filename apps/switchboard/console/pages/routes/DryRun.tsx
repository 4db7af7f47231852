import { Button, Lamp, Panel, TextAreaField, TextField, useApi, useAttempt } from '@trunkline/ui';
import { FlaskConical } from 'lucide-react';
import { useState } from 'react';
import type { Answer } from '../../../api-types.ts';

interface Verdict {
  dispatched: boolean;
  skill?: string;
  agent?: string;
  rule?: string;
  reason?: string;
  why: string;
}

/** Where a message would go, and why; nothing is sent. */
export function DryRun() {
  const api = useApi();
  const attempt = useAttempt();
  const [topic, setTopic] = useState('message.inbound.cli');
  const [given, setGiven] = useState('Is there an outage?');
  const [verdict, setVerdict] = useState<Verdict>();
  const [busy, setBusy] = useState(false);
  const payload = payloadOf(given);
  const run = async () => {
    setBusy(true);
    await attempt(async () => {
      const body = { topic: topic.trim(), payload };
      setVerdict((await api.request<Answer<Verdict>>('/api/routes/test', { body })).data);
    });
    setBusy(false);
  };
  return (
    <Panel title="Dry run" detail="Where would this message go, and why? Nothing is sent.">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <TextField
          label="Topic"
          mono
          autoCapitalize="off"
          spellCheck={false}
          value={topic}
          onChange={(event) => setTopic(event.target.value)}
        />
        <TextAreaField
          label="Message"
          hint="Plain words, or the payload as a JSON object."
          value={given}
          onChange={(event) => setGiven(event.target.value)}
        />
        <div className="flex justify-end">
          <Button
            type="submit"
            variant="primary"
            icon={<FlaskConical aria-hidden />}
            busy={busy}
            disabled={topic.trim() === ''}
          >
            Try it
          </Button>
        </div>
        <div role="status">{verdict && <Outcome verdict={verdict} />}</div>
      </form>
    </Panel>
  );
}

function Outcome({ verdict }: { verdict: Verdict }) {
  const { dispatched, skill, agent, rule, reason, why } = verdict;
  return (
    <div className="rounded-corner border border-line bg-sunken p-4">
      <Lamp
        state={dispatched ? 'live' : 'failed'}
        word={dispatched ? `${skill} by ${agent}` : `Goes nowhere (${reason})`}
      />
      <p className="mt-1 break-words first-letter:uppercase">{why}</p>
      {rule && <p className="font-mono text-12 text-muted">rule: {rule}</p>}
    </div>
  );
}

function payloadOf(given: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(given);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Not JSON, so it is what somebody says.
  }
  return { content: given };
}
