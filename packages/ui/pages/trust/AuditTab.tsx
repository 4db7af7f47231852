import type { AccountsView, AuditEntry, AuditVerification } from '@trunkline/std';
import { ChevronRight, Download, ScrollText } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { buttonClass, CopyButton } from '../../src/components/Button.tsx';
import { ErrorState } from '../../src/components/EmptyState.tsx';
import { SelectField, TextField } from '../../src/components/Field.tsx';
import { Lamp } from '../../src/components/Lamp.tsx';
import { ListPanel } from '../../src/components/Panel.tsx';
import { RelativeTime } from '../../src/components/RelativeTime.tsx';
import { ruleName } from '../../src/components/RuleLink.tsx';
import { usePages, useResource } from '../../src/hooks/useResource.ts';
import { plural } from '../../src/lib/figures.ts';
import { stateLamp } from '../../src/lib/states.ts';
import { SERVICE_NAMES, SERVICES } from '../../src/shell/services.tsx';

const SERVICE_OPTIONS = [
  { value: '', label: 'Any service' },
  ...SERVICE_NAMES.map((name) => ({ value: name, label: SERVICES[name].title })),
];

const ACTIONS = [
  { value: '', label: 'Everything' },
  { value: 'tool.call', label: 'Tool calls' },
  { value: 'approval', label: 'Approvals' },
  { value: 'http.change', label: 'Changes of settings' },
  { value: 'http.refused', label: 'Refused requests' },
  { value: 'operator.sign-in', label: 'Sign-ins' },
];

const DECISIONS = [
  { value: '', label: 'Any decision' },
  { value: 'ask', label: 'Asked' },
  { value: 'deny', label: 'Denied' },
  { value: 'allow', label: 'Allowed' },
];

const FILTERS = ['q', 'principal', 'service', 'action', 'decision'] as const;
type Filters = Record<(typeof FILTERS)[number], string>;

/** What was done, tried and refused, in all services of the installation. */
export default function AuditTab() {
  const [filters, setFilters] = useState(readFilters);
  const change = (next: Filters) => {
    setFilters(next);
    window.history.replaceState(null, '', `?${queryOf(next)}`);
  };
  const query = queryOf(filters);
  const list = usePages<AuditEntry, { entries: AuditEntry[]; next: number | null }>({
    path: (before) => `/operator/audit?limit=50&${query}${before === undefined ? '' : `&before=${before}`}`,
    key: query,
    read: ({ entries, next }) => ({ items: entries, next }),
  });
  const people = useResource<AccountsView>('/operator/accounts');
  const nameOf: NameOf = (id) => people.body?.accounts.find((account) => `user:${account.id}` === id)?.name;
  return (
    <div className="flex flex-col gap-4">
      <Verification />
      <FilterFields filters={filters} onChange={change} />
      <ListPanel
        title="Entries"
        hideTitle
        what="the audit log"
        list={list}
        empty={{
          icon: <ScrollText aria-hidden />,
          title: query === '' ? 'Nothing is recorded yet' : 'No entry fits',
          next:
            query === ''
              ? 'Sign-ins, changes, refusals, approvals and tool calls that have effects show up here.'
              : 'Loosen a filter.',
        }}
        itemKey={({ sequence }) => sequence}
      >
        {(entry) => <Entry entry={entry} nameOf={nameOf} />}
      </ListPanel>
    </div>
  );
}

function readFilters(): Filters {
  const given = new URLSearchParams(window.location.search);
  return Object.fromEntries(FILTERS.map((name) => [name, given.get(name) ?? ''])) as Filters;
}

function queryOf(filters: Filters): string {
  const set = FILTERS.flatMap((name): [string, string][] => {
    const value = filters[name].trim();
    return value === '' ? [] : [[name, value]];
  });
  return new URLSearchParams(set).toString();
}

function Verification() {
  const { body, error } = useResource<AuditVerification>('/operator/audit/verify');
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-72">
        {error && <ErrorState what="The log could not be checked." why={error.message} todo={error.advice} />}
        {!error && body === undefined && <Lamp state="waiting" word="Checking the chain" />}
        {body && <Chain verification={body} />}
      </div>
      <a href="/operator/audit/export" download className={buttonClass({})}>
        <Download aria-hidden />
        Export
      </a>
    </div>
  );
}

function Chain({ verification: { entries, head, brokenAt } }: { verification: AuditVerification }) {
  if (brokenAt !== undefined)
    return (
      <ErrorState
        what={`Entry ${brokenAt} was changed, or an entry before it was removed.`}
        why="Somebody wrote to audit.db outside of the services."
        todo="Compare it with a backup, and change the keys of this machine."
      />
    );
  return (
    <div className="flex flex-wrap items-center gap-x-3">
      <Lamp state="live" word="Chain whole" />
      <span className="text-12 text-muted">{plural(entries, 'entry', 'entries')}</span>
      {entries > 0 && <CopyButton value={head} label="Copy the newest hash, to keep it on another machine" />}
    </div>
  );
}

function FilterFields({ filters, onChange }: { filters: Filters; onChange(filters: Filters): void }) {
  const field = (name: keyof Filters) => ({
    value: filters[name],
    onChange: (event: { target: { value: string } }) => onChange({ ...filters, [name]: event.target.value }),
  });
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-5">
      <TextField label="Words" type="search" className="max-lg:col-span-2" {...field('q')} />
      <TextField label="Who" type="search" placeholder="person:user:…" {...field('principal')} />
      <SelectField label="Service" options={SERVICE_OPTIONS} {...field('service')} />
      <SelectField label="What" options={ACTIONS} {...field('action')} />
      <SelectField label="Decision" options={DECISIONS} {...field('decision')} />
    </div>
  );
}

function Entry({ entry, nameOf }: { entry: AuditEntry; nameOf: NameOf }) {
  const lamp = lampOf(entry);
  return (
    <li className="border-line border-b [contain-intrinsic-size:auto_3rem] [content-visibility:auto] last:border-b-0">
      <details className="group/entry">
        <summary className="flex min-h-12 cursor-pointer list-none items-center gap-3 px-4 py-2 transition-colors hover:bg-hover focus-visible:-outline-offset-2">
          <ChevronRight
            aria-hidden
            className="size-4 shrink-0 text-muted transition-transform group-open/entry:rotate-90"
          />
          <Lamp {...lamp} className="w-18 shrink-0 max-sm:hidden" />
          <Lamp {...lamp} dotOnly className="sm:hidden" />
          <span className="min-w-0 flex-1 break-words text-14">{sentenceOf(entry, nameOf)}</span>
          <span className="shrink-0 text-12 text-muted">
            <RelativeTime at={entry.at} />
          </span>
        </summary>
        <dl className="grid gap-x-6 gap-y-1 px-4 pb-4 text-12 sm:grid-cols-2 sm:pl-11">
          <Fact name="Who">{[entry.principal, ...entry.via].join(' by way of ')}</Fact>
          <Fact name="Service">{entry.service}</Fact>
          <Fact name="Action">{`${entry.action} ${entry.subject}`}</Fact>
          {entry.decision && <Fact name="Decision">{entry.decision}</Fact>}
          {entry.rule && <Fact name="Rule">{ruleName(entry.rule)}</Fact>}
          {entry.result && <Fact name="Result">{entry.result}</Fact>}
          {entry.task && <Fact name="Task">{entry.task}</Fact>}
          {entry.argumentsHash && <Fact name="SHA-256 of the arguments">{entry.argumentsHash}</Fact>}
          <Fact name="Entry">{`${entry.sequence}, ${entry.at}`}</Fact>
        </dl>
      </details>
    </li>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted">{name}</dt>
      <dd className="font-mono break-all">{children}</dd>
    </div>
  );
}

/** The name of an account, by the id of its principal; undefined for others. */
type NameOf = (principal: string) => string | undefined;

/** What the default rules of the policy say, in a few words. */
const DEFAULTS: Record<string, string> = {
  'default: guests': 'guests may only use tools that read',
  'default: effects after outside text':
    'the turn had read text from outside, and the tool does more than read',
  'default: addresses after outside text':
    'the turn had read text from outside, and nobody had named the address',
  'policy.yaml cannot be read': 'policy.yaml cannot be read',
};

/** Who did what, or was kept from it, in a sentence. */
function sentenceOf(entry: AuditEntry, nameOf: NameOf): string {
  const { action, subject, decision, result } = entry;
  const who = personOf(entry.principal, nameOf);
  switch (action) {
    case 'tool.call':
      return callSentence(entry, who);
    case 'approval':
      return decision === 'deny'
        ? `${who} said no to ${subject}.`
        : `${who} approved ${subject} ${result?.split(';')[0]}.`;
    case 'operator.sign-in':
      return isRefused(result) ? 'A sign-in as operator was refused.' : 'A browser signed in as operator.';
    case 'operator.sign-out':
      return `${who} signed out.`;
    case 'http.refused':
      return /^\w+ \//.test(subject) ? `${who} was refused ${subject}.` : `${subject}: ${result}.`;
    case 'http.change':
      return `${who} ${isRefused(result) ? 'tried' : 'used'} ${subject}.`;
    case 'setup.model':
      return `${who} set the ${subject} model.`;
    default:
      return [`${who}: ${action}`, subject, decision, result].filter(Boolean).join(', ');
  }
}

function callSentence({ subject: tool, decision, rule, result }: AuditEntry, who: string): string {
  const why = rule === null ? '' : `: ${DEFAULTS[rule] ?? ruleName(rule)}`;
  if (decision === 'deny' || result === 'refused') return `${who} was refused ${tool}${why}.`;
  if (result === 'waits for a person') return `${who} wants to use ${tool} and waits for approval${why}.`;
  if (result === 'nobody could be asked')
    return `${who} was refused ${tool}, as nobody could be asked${why}.`;
  if (result === 'over budget') return `${who} was refused ${tool}: the budget of this hour is spent.`;
  if (result?.startsWith('refused by a person'))
    return `${who} was refused ${tool}: a person said no, or did not answer in time.`;
  if (result === 'failed') return `${who} used ${tool}, which failed.`;
  return decision === 'ask' ? `${who} used ${tool} after approval${why}.` : `${who} used ${tool}.`;
}

function personOf(principal: string, nameOf: NameOf): string {
  const [kind = '', ...rest] = principal.split(':');
  const id = rest.join(':');
  const name = nameOf(id);
  if (name !== undefined) return name;
  if (kind === 'anonymous') return 'Somebody unknown';
  if (id === '' || id === kind) return `The ${kind}`;
  if (kind === 'operator') return `The operator (${id})`;
  return kind === 'person' ? id : `${kind[0]?.toUpperCase()}${kind.slice(1)} ${id}`;
}

function lampOf({ action, decision, result }: AuditEntry): ReturnType<typeof stateLamp> {
  if (result === 'waits for a person') return stateLamp('held');
  const refused =
    decision === 'deny' || /^refused|^nobody|^over budget/.test(result ?? '') || isRefused(result);
  if (action === 'http.refused' || refused) return stateLamp('refused');
  if (result === 'failed') return stateLamp('failed');
  return stateLamp('done');
}

function isRefused(result: string | null): boolean {
  return /^[45]\d\d$/.test(result ?? '');
}
