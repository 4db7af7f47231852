import type { ExplainedCall, PolicyView, TriedCall } from '@trunkline/std';
import { type FormEvent, useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { CheckboxField, SelectField, TextAreaField, TextField } from '../../src/components/Field.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Panel } from '../../src/components/Panel.tsx';
import { ruleName } from '../../src/components/RuleLink.tsx';
import { useAttempt } from '../../src/hooks/useResource.ts';
import { DECISIONS } from './policyWords.ts';

const PRINCIPALS = [
  { value: 'member', label: 'A member' },
  { value: 'guest', label: 'A guest' },
  { value: 'operator', label: 'The operator' },
  { value: 'agent', label: 'Another agent' },
  { value: 'schedule', label: 'A schedule' },
  { value: 'service', label: 'One of these services' },
  { value: 'anonymous', label: 'Somebody unknown' },
];

const OUTCOMES = {
  allow: 'It would run.',
  ask: 'A person with the right to approve would be asked; where nobody can be, it would be refused.',
  deny: 'It would be refused.',
};

/** Explains what would happen to a call, by the same engine that decides. Nothing is run. */
export function TryCall({ view }: { view: PolicyView }) {
  const api = useApi();
  const attempt = useAttempt();
  const [tool, setTool] = useState(view.tools[0]?.name ?? '');
  const [principal, setPrincipal] = useState('member');
  const [agent, setAgent] = useState(view.agents[0] ?? view.service);
  const [given, setGiven] = useState('{}');
  const [tainted, setTainted] = useState(true);
  const [known, setKnown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<ExplainedCall>();
  const input = parseInput(given);
  const explain = async (event: FormEvent) => {
    event.preventDefault();
    if (input === undefined || tool === '') return;
    const taint = tainted ? ['fetch_url https://example.com/'] : [];
    const body: TriedCall = { tool, principal, agent, arguments: input, taint, known };
    setBusy(true);
    await attempt(async () => setAnswer(await api.request<ExplainedCall>('/operator/policy/test', { body })));
    setBusy(false);
  };
  return (
    <Panel title="Try a call" detail="Says what would happen, and why. Nothing is run.">
      <form className="flex flex-col gap-4" onSubmit={(event) => void explain(event)}>
        <div className="grid gap-3 sm:grid-cols-3">
          <TextField
            label="Tool"
            mono
            list="tools-of-service"
            value={tool}
            onChange={(event) => setTool(event.target.value)}
          />
          <datalist id="tools-of-service">
            {view.tools.map(({ name }) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <SelectField
            label="Asked by"
            options={PRINCIPALS}
            value={principal}
            onChange={(event) => setPrincipal(event.target.value)}
          />
          <TextField label="Agent" mono value={agent} onChange={(event) => setAgent(event.target.value)} />
        </div>
        <TextAreaField
          label="Arguments"
          hint={'As JSON, such as {"path": "reports/week.md"} or {"url": "https://example.com/"}.'}
          error={input === undefined ? 'This is no JSON object.' : undefined}
          mono
          rows={2}
          value={given}
          onChange={(event) => setGiven(event.target.value)}
        />
        <div className="flex flex-wrap items-center gap-x-6 gap-y-3">
          <CheckboxField
            label="The turn has read text from outside"
            checked={tainted}
            onChange={setTainted}
          />
          <CheckboxField label="The person named the address" checked={known} onChange={setKnown} />
          <Button type="submit" busy={busy} disabled={input === undefined || tool === ''} className="ml-auto">
            Explain
          </Button>
        </div>
        <div role="status">
          {answer && <Answer answer={answer} isKnown={view.tools.some(({ name }) => name === answer.tool)} />}
        </div>
      </form>
    </Panel>
  );
}

function Answer({ answer, isKnown }: { answer: ExplainedCall; isKnown: boolean }) {
  const { decision, rule, why, effects, subject, tool } = answer;
  const can = isKnown ? effects.join(', ') : 'a tool that is not known here, so that every effect is assumed';
  const about = Object.entries(subject).map(([name, value]) => `${name} ${String(value)}`);
  return (
    <div className="flex flex-col gap-1 rounded-corner bg-sunken p-4 text-14">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={DECISIONS[decision].tone}>{DECISIONS[decision].word}</Badge>
        {OUTCOMES[decision]}
      </p>
      <p className="first-letter:uppercase break-words">{why}.</p>
      <p className="text-12 text-muted break-words">
        Decided by {ruleName(rule)}. Looked at: {[tool, can, ...about].join('; ')}.
      </p>
    </div>
  );
}

function parseInput(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
