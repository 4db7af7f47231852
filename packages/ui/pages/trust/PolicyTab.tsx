import type { BudgetView, DescriptionView, LineProblem, PolicyToolView, PolicyView } from '@trunkline/std';
import { type ReactNode, useCallback, useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { ErrorState } from '../../src/components/EmptyState.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { ruleName } from '../../src/components/RuleLink.tsx';
import { Table } from '../../src/components/Table.tsx';
import { CheckedEditor } from '../../src/components/TextEditor.tsx';
import { Tooltip } from '../../src/components/Tooltip.tsx';
import { useResource, useSend } from '../../src/hooks/useResource.ts';
import { countOf, dollars } from '../../src/lib/figures.ts';
import { DECISIONS, DEFAULTS, ruleSentence, TEMPLATE } from './policyWords.ts';
import { TryCall } from './TryCall.tsx';

/** What agents may do with their tools: what counts now, what would happen to a call, and the file itself. */
export default function PolicyTab() {
  const resource = useResource<PolicyView>('/operator/policy');
  return (
    <Loaded resource={resource} failed="The policy could not be loaded.">
      {(view) => (
        <div className="flex flex-col gap-4">
          {view.problem && (
            <ErrorState
              what="policy.yaml cannot be used as it is."
              why={view.problem}
              todo="Mend it below. Until then the last good policy counts; without one, tools that do more than read are refused."
            />
          )}
          <Descriptions view={view} onAccepted={resource.reload} />
          <Rules view={view} />
          <TryCall view={view} />
          <Editor view={view} onSaved={resource.reload} />
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <OutsideText view={view} />
            <Budgets budgets={view.budgets} service={view.service} />
          </div>
          <Tools tools={view.tools} service={view.service} />
        </div>
      )}
    </Loaded>
  );
}

function Rules({ view: { rules } }: { view: PolicyView }) {
  return (
    <Panel title="What counts now" detail="From top to bottom: the first that fits a call decides." flush>
      <ol>
        {rules.map((rule, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place is what names a rule
          <Rule key={index} decision={rule.decision} why={rule.reason}>
            <span className="text-muted">Rule {index + 1}: </span>
            {ruleSentence(rule)}
          </Rule>
        ))}
        {DEFAULTS.map(({ decision, when, why }) => (
          <Rule key={when} decision={decision} why={why}>
            <span className="text-muted">By default: </span>
            {when}
          </Rule>
        ))}
      </ol>
    </Panel>
  );
}

interface RuleProps {
  decision: keyof typeof DECISIONS;
  why: string | undefined;
  children: ReactNode;
}

function Rule({ decision, why, children }: RuleProps) {
  const { word, tone } = DECISIONS[decision];
  return (
    <li className="flex items-baseline gap-3 border-line border-b px-4 py-2.5 last:border-b-0">
      <Badge tone={tone} className="w-12 shrink-0 justify-center">
        {word}
      </Badge>
      <div className="min-w-0">
        <p className="break-words text-14">{children}</p>
        {why && <p className="text-12 text-muted">{why}</p>}
      </div>
    </li>
  );
}

function Editor({ view: { text, file }, onSaved }: { view: PolicyView; onSaved(): void }) {
  const api = useApi();
  const send = useSend();
  const check = useCallback(
    async (draft: string, signal: AbortSignal) => {
      const body = { text: draft };
      return (await api.request<{ problems: LineProblem[] }>('/operator/policy/check', { body, signal }))
        .problems;
    },
    [api],
  );
  const save = async (draft: string, begunFrom: string) => {
    const body = { text: draft, before: text === null ? null : begunFrom };
    const saved = await send('/operator/policy', { method: 'PUT', body }, { title: 'The policy is saved.' });
    if (saved) onSaved();
    return saved;
  };
  return (
    <Panel title="policy.yaml" detail={<span className="break-all font-mono">{file}</span>}>
      <CheckedEditor
        label="policy.yaml"
        saved={text ?? TEMPLATE}
        fresh={text === null}
        short
        check={check}
        save={save}
      />
    </Panel>
  );
}

function OutsideText({ view: { hosts, relaxed, delegating } }: { view: PolicyView }) {
  return (
    <Panel title="Text from outside" flush>
      <dl>
        <Fact name="Hosts that may be read after it">
          {hosts.length === 0
            ? 'Only those that the person named, or that stood in the text.'
            : hosts.join(', ')}
        </Fact>
        <Fact name="Relaxed agents">
          {relaxed.length === 0 ? 'None.' : <Badge tone="failed">{relaxed.join(', ')}</Badge>}
          <p className="mt-1 text-12 text-muted">
            With <code>agents: {'{ name: { taint: relaxed } }'}</code> text from outside changes nothing for
            an agent. It costs this: whoever writes a page, a mail or a message that the agent reads can use
            every tool it has, send what it knows elsewhere, and nobody is asked. Relax only an agent whose
            tools could do no harm in a stranger's hands.
          </p>
        </Fact>
        <Fact name="Agents that hand work on without asking">
          {delegating.length === 0 ? 'None.' : <Badge tone="failed">{delegating.join(', ')}</Badge>}
          <p className="mt-1 text-12 text-muted">
            After text from outside an agent asks before it hands work to your other agents, unless your next
            words name the one that it goes to. <code>agents: {'{ name: { delegation: relaxed } }'}</code>{' '}
            turns that off. It costs this: whoever writes what the agent reads can have your other agents
            work, read and spend for them.
          </p>
        </Fact>
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="border-line border-b px-4 py-3 last:border-b-0">
      <dt className="text-12 text-muted">{name}</dt>
      <dd className="text-14 break-words">{children}</dd>
    </div>
  );
}

function Budgets({ budgets, service }: { budgets: readonly BudgetView[]; service: string }) {
  return (
    <Panel title="Budgets" detail="By the hour, for each principal and agent." flush>
      <ul>
        {budgets.length === 0 && (
          <li className="px-4 py-3 text-14">
            No budget is set: calls, messages and money have no bound of their own.
          </li>
        )}
        {budgets.map((budget, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place is what names a budget
          <li key={index} className="border-line border-b px-4 py-3 last:border-b-0">
            <p className="text-14">{limitWords(budget)}</p>
            <ul className="text-12 text-muted">
              {budget.used.length === 0 && <li>Nothing used in this hour by {service}.</li>}
              {budget.used.map((use) => (
                <li key={`${use.principal} ${use.agent}`} className="break-words">
                  {use.principal} by {use.agent}: {usedWords(budget, use)}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function limitWords({ principal = ['everybody'], agent, calls, messages, usd }: BudgetView): string {
  const limits = [
    calls !== undefined && `${countOf(calls)} calls`,
    messages !== undefined && `${countOf(messages)} messages`,
    usd !== undefined && dollars(usd),
  ].filter(Boolean);
  const by = agent === undefined ? '' : ` in ${agent.join(', ')}`;
  return `${principal.join(', ')}${by}: ${limits.join(', ')} an hour`;
}

function usedWords(budget: BudgetView, use: BudgetView['used'][number]): string {
  const kinds = (['calls', 'messages'] as const).flatMap((kind) =>
    budget[kind] === undefined ? [] : `${countOf(use[kind])} of ${countOf(budget[kind])} ${kind}`,
  );
  return [
    ...kinds,
    ...(budget.usd === undefined ? [] : [`${dollars(use.usd)} of ${dollars(budget.usd)}`]),
  ].join(', ');
}

function Tools({ tools, service }: { tools: readonly PolicyToolView[]; service: string }) {
  return (
    <Panel
      title={`Tools of ${service}`}
      detail="What each can do, and what becomes of a member's call now. Rules about paths, hosts and the like are not looked at here."
      flush
    >
      <Table
        caption="Tools and their effects"
        rows={tools}
        rowId={({ name }) => name}
        columns={[
          { id: 'name', header: 'Tool', cell: ({ name }) => <code className="text-12">{name}</code> },
          {
            id: 'effects',
            header: 'Can',
            cell: ({ effects, external }) =>
              [effects.join(', ') || 'anything', external && 'brings text from outside']
                .filter(Boolean)
                .join('; '),
          },
          { id: 'clean', header: 'By itself', cell: (tool) => <Verdict tool={tool} when="clean" /> },
          {
            id: 'tainted',
            header: 'After text from outside',
            cell: (tool) => <Verdict tool={tool} when="tainted" />,
          },
        ]}
      />
    </Panel>
  );
}

function Verdict({ tool, when }: { tool: PolicyToolView; when: 'clean' | 'tainted' }) {
  const { decision, rule, why } = tool[when];
  const asks = tool.asksItself && decision === 'allow';
  const { done, tone } = DECISIONS[asks ? 'ask' : decision];
  return (
    <Tooltip text={asks ? 'It asks a person by itself.' : `${why} (${ruleName(rule)})`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the reason must be within reach of the keyboard */}
      <span tabIndex={0} className="rounded-small">
        <Badge tone={tone}>{done}</Badge>
      </span>
    </Tooltip>
  );
}

interface DescriptionsProps {
  view: PolicyView;
  onAccepted(): void;
}

/** What MCP servers and other agents say about themselves, those first that nobody has accepted. */
function Descriptions({ view: { descriptions }, onAccepted }: DescriptionsProps) {
  if (descriptions.length === 0) return null;
  const accepted = descriptions.filter(({ state }) => state === 'accepted');
  const open = descriptions.filter(({ state }) => state !== 'accepted');
  return (
    <Panel
      title="Descriptions written by others"
      detail="The model reads what MCP servers and agents say about themselves. Until you accept it, it counts as text from outside: tools with effects ask in every turn. A text that changes later counts as new."
      flush
    >
      <ul>
        {[...open, ...accepted].map((each) => (
          <Description key={`${each.source} ${each.sha256}`} description={each} onAccepted={onAccepted} />
        ))}
      </ul>
    </Panel>
  );
}

const TEXT = 'max-h-64 overflow-y-auto whitespace-pre-wrap break-words font-mono text-muted';

const WORDS = {
  new: { word: 'New', tone: 'waiting' },
  changed: { word: 'Changed since you accepted it', tone: 'failed' },
  accepted: { word: 'Accepted', tone: 'live' },
} as const;

interface DescriptionProps {
  description: DescriptionView;
  onAccepted(): void;
}

function Description({ description, onAccepted }: DescriptionProps) {
  const { kind, source, text, sha256, state } = description;
  const send = useSend();
  const [busy, setBusy] = useState(false);
  const accept = async () => {
    setBusy(true);
    const title = `What ${source} says about itself is accepted.`;
    if (await send('/operator/policy/descriptions', { body: { kind, source, sha256 } }, { title }))
      onAccepted();
    setBusy(false);
  };
  const { word, tone } = WORDS[state];
  return (
    <li className="flex flex-wrap items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-3 font-medium">
          {kind === 'agent-card' ? `Agent ${source}` : `MCP server ${source}`}{' '}
          <Badge tone={tone}>{word}</Badge>
        </p>
        <details open={state !== 'accepted'} className="mt-1 text-12">
          <summary>What it says</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard */}
          <pre tabIndex={0} className={TEXT}>
            {text}
          </pre>
        </details>
      </div>
      {state !== 'accepted' && (
        <Button
          size="small"
          busy={busy}
          aria-label={`Accept what ${source} says`}
          onClick={() => void accept()}
        >
          Accept
        </Button>
      )}
    </li>
  );
}
