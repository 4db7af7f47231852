import {
  Badge,
  Button,
  EmptyState,
  IconButton,
  Panel,
  Skeleton,
  SwitchField,
  useApi,
  useAttempt,
  useToast,
} from '@trunkline/ui';
import { Plus, RadioTower, Trash2, Users } from 'lucide-react';
import { useState } from 'react';
import { type Delegate, useConfig, useLive } from '../../app/live.ts';
import { AddDialog, DELEGATE_FORM, delegateOf } from './AddDialog.tsx';

const TRIAL_MS = 70_000;

/** Other agents and models that the agent hands work to. */
export function DelegatesTab() {
  const { config, change, reload } = useConfig();
  const [adding, setAdding] = useState(false);
  useLive(['config'], reload);
  const delegates = config?.delegates;
  return (
    <Panel
      title="Delegates"
      detail="The agent asks them with delegate_to."
      flush
      actions={
        <Button size="small" icon={<Plus aria-hidden />} onClick={() => setAdding(true)}>
          Add a delegate
        </Button>
      }
    >
      {delegates === undefined && <Skeleton className="p-4" />}
      {delegates?.length === 0 && (
        <EmptyState
          icon={<Users aria-hidden />}
          title="No delegates yet"
          next="Add another agent by its address, a model, or a coding agent that runs as a process."
        />
      )}
      <ul>
        {delegates?.map((delegate, index) => (
          <Row
            key={delegate.name}
            delegate={delegate}
            onEnable={(value) =>
              void change(value ? 'Switched on.' : 'Switched off.', {
                op: 'set',
                path: ['delegates', index, 'enabled'],
                value,
              })
            }
            onRemove={() => void change('Delegate removed.', { op: 'remove', path: ['delegates', index] })}
          />
        ))}
      </ul>
      {adding && (
        <AddDialog
          title="Add a delegate"
          schema={DELEGATE_FORM}
          onClose={() => setAdding(false)}
          onAdd={(values) =>
            change('Delegate added.', { op: 'add', path: ['delegates'], value: delegateOf(values) })
          }
        />
      )}
    </Panel>
  );
}

interface RowProps {
  delegate: Delegate;
  onEnable(on: boolean): void;
  onRemove(): void;
}

function Row({ delegate, onEnable, onRemove }: RowProps) {
  const [testing, test] = useTrial(delegate.name);
  return (
    <li className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex items-center gap-2 font-medium">
          {delegate.name} <Badge>{delegate.type}</Badge>
        </p>
        <p className="text-muted">{delegate.description}</p>
        <p className="truncate font-mono text-12 text-muted">{delegate.url ?? delegate.command}</p>
      </div>
      <SwitchField label={`Use ${delegate.name}`} checked={delegate.enabled} onChange={onEnable} />
      <div className="flex">
        <IconButton
          small
          label={`Test ${delegate.name}`}
          icon={<RadioTower aria-hidden />}
          disabled={testing || !delegate.enabled}
          onClick={() => void test()}
        />
        <IconButton
          small
          label={`Remove ${delegate.name}`}
          icon={<Trash2 aria-hidden />}
          onClick={onRemove}
        />
      </div>
    </li>
  );
}

// Asks the delegate whether it is there.
function useTrial(name: string): [boolean, () => Promise<void>] {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  const [testing, setTesting] = useState(false);
  const test = async () => {
    setTesting(true);
    await attempt(async () => {
      const path = `/api/delegates/${encodeURIComponent(name)}/test`;
      const { ok, answer } = await api.request<{ ok: boolean; answer: string }>(path, {
        body: {},
        timeLimitMs: TRIAL_MS,
      });
      const title = ok ? `${name} answers.` : `${name} does not answer.`;
      toast({ title, detail: answer.slice(0, 200), state: ok ? 'live' : 'failed' });
    });
    setTesting(false);
  };
  return [testing, test];
}
