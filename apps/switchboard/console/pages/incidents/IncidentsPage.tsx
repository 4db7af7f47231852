import { Badge, Button, FormDialog, Lamp, RelativeTime, stateLamp } from '@trunkline/ui';
import { Check, Plus, Siren } from 'lucide-react';
import { useState } from 'react';
import type { Incident } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList, useSend } from '../../shared/useList.ts';

const REPORT = {
  type: 'object',
  required: ['title', 'severity'],
  properties: {
    title: { type: 'string', title: 'Title', maxLength: 200 },
    severity: { title: 'Severity', enum: ['critical', 'high', 'medium', 'low'], default: 'medium' },
    description: { type: 'string', title: 'Description', maxLength: 20_000 },
    affectedProjects: { type: 'array', title: 'Projects', items: { type: 'string' } },
    assignee: { type: 'string', title: 'Owner' },
  },
};
const RESOLVE = {
  type: 'object',
  properties: { resolutionNote: { type: 'string', title: 'Resolution', maxLength: 20_000 } },
};
const TONES = { critical: 'failed', high: 'failed', medium: 'waiting', low: 'plain' } as const;

export default function IncidentsPage() {
  const send = useSend();
  const [open, setOpen] = useState<'report' | Incident>();
  const list = useList<Incident>('/api/incidents', ['config.updated', 'security.incident.#'], (all) =>
    [...all].sort(openFirst),
  );
  const done = (accepted: boolean) => {
    if (accepted) list.reload();
    return accepted;
  };
  const report = async (body: object) =>
    done(await send('/api/incidents', { title: 'Incident reported.', body }));
  const resolve = async ({ id }: Incident, body: object) =>
    done(await send(`/api/incidents/${id}/resolve`, { title: `${id} is resolved.`, body }));
  const add = (
    <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setOpen('report')}>
      Report an incident
    </Button>
  );
  return (
    <Frame
      title="Incidents"
      intro="Kept in incidents.yaml; agents read and report them too. High ones are told to the operator."
      actions={add}
    >
      <List
        title="Incidents"
        hideTitle
        list={list}
        icon={Siren}
        empty={['No incidents', 'Report one here, or tell an agent of an outage.']}
      >
        {(incident) => <IncidentRow incident={incident} onResolve={() => setOpen(incident)} />}
      </List>
      {open === 'report' && (
        <FormDialog
          title="Report an incident"
          schema={REPORT}
          action="Report it"
          onClose={() => setOpen(undefined)}
          onSave={report}
        />
      )}
      {typeof open === 'object' && (
        <FormDialog
          title={`Resolve ${open.id}`}
          schema={RESOLVE}
          action="Resolve it"
          onClose={() => setOpen(undefined)}
          onSave={(values) => resolve(open, values)}
        />
      )}
    </Frame>
  );
}

function openFirst(one: Incident, other: Incident): number {
  const closed = Number(one.status === 'resolved') - Number(other.status === 'resolved');
  return closed === 0 ? Date.parse(other.reportedAt) - Date.parse(one.reportedAt) : closed;
}

function IncidentRow({ incident, onResolve }: { incident: Incident; onResolve(): void }) {
  const resolved = incident.status === 'resolved';
  return (
    <li className="flex flex-wrap items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-mono text-12 text-muted">{incident.id}</span>
          <Badge tone={resolved ? 'plain' : TONES[incident.severity]}>{incident.severity}</Badge>
          <Lamp {...stateLamp(resolved ? 'resolved' : 'open')} />
          <span className="text-12 text-muted">
            <RelativeTime at={incident.reportedAt} />
          </span>
        </p>
        <p className="mt-1 font-medium break-words">{incident.title}</p>
        {incident.description && (
          <p className="text-muted whitespace-pre-wrap break-words">{incident.description}</p>
        )}
        {incident.resolutionNote && (
          <p className="text-live-text whitespace-pre-wrap break-words">{incident.resolutionNote}</p>
        )}
        <p className="text-12 text-muted">
          {[incident.assignee, ...(incident.affectedProjects ?? [])].filter(Boolean).join(' · ')}
        </p>
      </div>
      {!resolved && (
        <Button size="small" icon={<Check aria-hidden />} onClick={onResolve}>
          Resolve
        </Button>
      )}
    </li>
  );
}
