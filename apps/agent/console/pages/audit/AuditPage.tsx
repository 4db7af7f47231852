import { suggestions } from '@trunkline/std';
import {
  CodeView,
  CopyButton,
  duration,
  hashRoute,
  Lamp,
  ListPanel,
  RelativeTime,
  SelectField,
  stateLamp,
  TextField,
} from '@trunkline/ui';
import { ChevronRight, ScrollText } from 'lucide-react';
import { useState } from 'react';
import type { AuditLine } from '../../../stores/audit-log.ts';
import { useLiveList } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

interface Filters {
  q: string;
  tool: string;
  session: string;
  success: string;
}

const NONE: Filters = { q: '', tool: '', session: '', success: '' };
const OUTCOMES = [
  { value: '', label: 'Any outcome' },
  { value: 'true', label: 'Succeeded' },
  { value: 'false', label: 'Failed' },
];

/** Every call of a tool, as it stands in the audit log. */
export default function AuditPage() {
  const [filters, setFilters] = useState(NONE);
  const query = new URLSearchParams(
    Object.entries(filters).flatMap(([name, value]): [string, string][] =>
      value.trim() === '' ? [] : [[name, value.trim()]],
    ),
  ).toString();
  const list = useLiveList<AuditLine>(`/api/audit?limit=50&${query}`, 'lines', ['audit']);
  const filtered = query !== '';
  return (
    <PageFrame
      title="Audit log"
      intro="Every call of a tool: its arguments, its result, and its conversation."
    >
      <FilterFields filters={filters} onChange={setFilters} />
      <ListPanel
        title="Calls"
        hideTitle
        what="the audit log"
        list={list}
        empty={{
          icon: <ScrollText aria-hidden />,
          title: filtered ? 'No call fits' : 'No tool was called yet',
          next: filtered ? 'Loosen a filter.' : `Ask in the chat: "${suggestions.time}"`,
        }}
        // Two calls may be alike in every field; the oldest keeps its place.
        itemKey={({ ts, session_id }, index) => `${ts} ${session_id} ${(list.items?.length ?? 0) - index}`}
      >
        {(line) => <Row line={line} />}
      </ListPanel>
    </PageFrame>
  );
}

function FilterFields({ filters, onChange }: { filters: Filters; onChange(filters: Filters): void }) {
  const text = (name: keyof Filters, label: string) => (
    <TextField
      label={label}
      type="search"
      value={filters[name]}
      onChange={(event) => onChange({ ...filters, [name]: event.target.value })}
    />
  );
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {text('q', 'Words')}
      {text('tool', 'Tool')}
      {text('session', 'Conversation')}
      <SelectField
        label="Outcome"
        options={OUTCOMES}
        value={filters.success}
        onChange={(event) => onChange({ ...filters, success: event.target.value })}
      />
    </div>
  );
}

function Row({ line }: { line: AuditLine }) {
  return (
    <li className="border-line border-b [contain-intrinsic-size:auto_3rem] [content-visibility:auto] last:border-b-0">
      <details className="group/call">
        <summary className="flex min-h-12 cursor-pointer list-none items-center gap-3 px-4 py-2 transition-colors hover:bg-hover focus-visible:-outline-offset-2">
          <ChevronRight
            aria-hidden
            className="size-4 shrink-0 text-muted transition-transform group-open/call:rotate-90"
          />
          <Lamp {...stateLamp(line.success ? 'done' : 'failed')} className="w-16" />
          <span className="min-w-0 flex-1 truncate">
            <code className="text-12">{line.tool}</code>
            <span className="ml-3 text-muted">{line.result_summary}</span>
          </span>
          <span className="hidden font-mono text-12 text-muted sm:inline">{duration(line.duration_ms)}</span>
          <span className="text-12 text-muted">
            <RelativeTime at={line.ts} />
          </span>
        </summary>
        <div className="flex flex-col gap-3 px-4 pb-4">
          <p className="flex items-center gap-1 text-12 text-muted">
            <a
              className="text-accent-text underline underline-offset-2"
              href={`/${hashRoute('chat', line.session_id)}`}
            >
              Open the conversation
            </a>
            <CopyButton value={line.session_id} label="Copy the conversation's id" />
          </p>
          <CodeView title="Given" code={JSON.stringify(line.args, null, 2) ?? ''} wrap />
          <CodeView title="Result" code={line.result_summary} wrap />
        </div>
      </details>
    </li>
  );
}
