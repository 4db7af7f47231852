import type { AccountsView } from '@trunkline/std';
import { Ellipsis, UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button, CopyButton, IconButton } from '../../src/components/Button.tsx';
import { ConfirmDialog, Dialog, FormDialog } from '../../src/components/Dialog.tsx';
import { EmptyState } from '../../src/components/EmptyState.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Menu, type MenuItem } from '../../src/components/Menu.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { RelativeTime } from '../../src/components/RelativeTime.tsx';
import type { JsonSchema } from '../../src/form/schema.ts';
import { useAttempt, useResource, useSend } from '../../src/hooks/useResource.ts';
import { Pairings, ROLES } from './Pairings.tsx';

type Account = AccountsView['accounts'][number];

type Task =
  | { name: 'add' }
  | { name: 'edit' | 'key' | 'link' | 'remove'; account: Account }
  | { name: 'shown'; account: Account; key: string }
  | { name: 'revoke'; account: Account; keyId: string; label: string };

/** Who is known to this installation, what they may do, and how they come in. */
export default function PeopleTab() {
  const resource = useResource<AccountsView>('/operator/accounts');
  const [task, setTask] = useState<Task>();
  return (
    <Loaded resource={resource} failed="The people could not be loaded.">
      {(view) => (
        <div className="flex flex-col gap-4">
          <Pairings view={view} onChange={resource.reload} />
          <Panel
            title="People"
            hideTitle
            detail="One account for each person, however they come in: by key, chat, mail or voice."
            actions={
              <Button size="small" icon={<UserPlus aria-hidden />} onClick={() => setTask({ name: 'add' })}>
                Add a person
              </Button>
            }
            flush
          >
            {view.accounts.length === 0 && (
              <EmptyState
                icon={<Users aria-hidden />}
                title="Nobody has an account yet"
                next="You are the operator by your key. Add a person, or approve somebody who asks on chat or mail."
              />
            )}
            <ul>
              {view.accounts.map((account) => (
                <Person key={account.id} account={account} onTask={setTask} onChange={resource.reload} />
              ))}
            </ul>
          </Panel>
          <Listed view={view} />
          {task && (
            <TaskDialog task={task} onTask={setTask} onChange={resource.reload} isOwner={view.isOwner} />
          )}
        </div>
      )}
    </Loaded>
  );
}

interface PersonProps {
  account: Account;
  onTask(task: Task): void;
  onChange(): void;
}

function Person({ account, onTask, onChange }: PersonProps) {
  const send = useSend();
  const { id, name, role, disabled, lastSeenAt, identities, keys, programs } = account;
  const change = async (path: string, request: Parameters<typeof send>[1], title: string) => {
    if (await send(`/operator/accounts/${id}${path}`, request, { title })) onChange();
  };
  const open = (task: 'edit' | 'key' | 'link' | 'remove') => () => onTask({ name: task, account });
  const groups: MenuItem[][] = [
    [
      { id: 'edit', label: 'Change name or role', run: open('edit') },
      { id: 'key', label: 'Create a key', run: open('key') },
      { id: 'link', label: 'Link an identity', run: open('link') },
    ],
    [
      {
        id: 'sessions',
        label: 'Sign out everywhere',
        run: () =>
          void change(
            '/sessions',
            { method: 'DELETE' },
            `${name} is signed out everywhere, and programs are disconnected.`,
          ),
      },
      {
        id: 'disable',
        label: disabled ? 'Enable' : 'Disable',
        run: () =>
          void change(
            '',
            { method: 'PATCH', body: { disabled: !disabled } },
            disabled ? `${name} may come in again.` : `${name} may not come in any more.`,
          ),
      },
      { id: 'remove', label: 'Remove', danger: true, run: open('remove') },
    ],
  ];
  return (
    <li className="flex items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          <span className="min-w-0 break-words">{name}</span>
          <Badge tone={role === 'owner' || role === 'operator' ? 'accent' : 'plain'}>{role}</Badge>
          {disabled && <Badge tone="failed">disabled</Badge>}
        </p>
        <p className="text-12 text-muted">
          {lastSeenAt === undefined ? 'Never seen' : 'Seen '}
          {lastSeenAt !== undefined && <RelativeTime at={lastSeenAt} />}
        </p>
        <ul className="flex flex-wrap gap-x-3 gap-y-1 text-12">
          {identities.map((identity) => (
            <li key={identity} className="flex items-center gap-1">
              <code className="break-all">{identity}</code>
              <Button
                size="small"
                variant="quiet"
                aria-label={`Unlink ${identity}`}
                onClick={() =>
                  void change(
                    `/identities?identity=${encodeURIComponent(identity)}`,
                    { method: 'DELETE' },
                    `${identity} is no longer ${name}.`,
                  )
                }
              >
                Unlink
              </Button>
            </li>
          ))}
          {keys.map(({ keyId, label, lastUsedAt }) => (
            <li key={keyId} className="flex items-center gap-1">
              <span>
                Key {label === '' ? keyId : label},{' '}
                {lastUsedAt === undefined ? 'never used' : <RelativeTime at={lastUsedAt} />}
              </span>
              <Button
                size="small"
                variant="quiet"
                aria-label={`Revoke key ${label || keyId}`}
                onClick={() => onTask({ name: 'revoke', account, keyId, label: label || keyId })}
              >
                Revoke
              </Button>
            </li>
          ))}
          {programs.map(({ programId, name: program, agent, lastUsedAt }) => (
            <li key={programId} className="flex items-center gap-1">
              <span className="min-w-0 break-words">
                Program {program} at {agent},{' '}
                {lastUsedAt === undefined ? 'never used' : <RelativeTime at={lastUsedAt} />}
              </span>
              <Button
                size="small"
                variant="quiet"
                aria-label={`Disconnect ${program}`}
                onClick={() =>
                  void change(
                    `/programs/${programId}`,
                    { method: 'DELETE' },
                    `${program} may no longer act as ${name}.`,
                  )
                }
              >
                Disconnect
              </Button>
            </li>
          ))}
        </ul>
      </div>
      <Menu
        trigger={<IconButton label={`More about ${name}`} icon={<Ellipsis aria-hidden />} />}
        groups={groups}
      />
    </li>
  );
}

interface TaskDialogProps {
  task: Task;
  isOwner: boolean;
  onTask(task: Task | undefined): void;
  onChange(): void;
}

function TaskDialog({ task, isOwner, onTask, onChange }: TaskDialogProps) {
  const api = useApi();
  const attempt = useAttempt();
  const send = useSend();
  const close = () => onTask(undefined);
  const path = 'account' in task ? `/operator/accounts/${task.account.id}` : '/operator/accounts';
  const sent = async (request: Parameters<typeof send>[1], title: string, below = '') => {
    const accepted = await send(`${path}${below}`, request, { title });
    if (accepted) onChange();
    return accepted;
  };
  const confirmed = (request: Parameters<typeof send>[1], title: string, below = '') => {
    close();
    void sent(request, title, below);
  };
  switch (task.name) {
    case 'add':
      return (
        <FormDialog
          title="Add a person"
          detail="Then create a key for them, or link the identity by which they write."
          schema={personSchema(isOwner)}
          values={{ role: 'member' }}
          action="Add"
          onClose={close}
          onSave={(values) => sent({ body: values }, `${String(values.name)} is added.`)}
        />
      );
    case 'edit':
      return (
        <FormDialog
          title={`Change ${task.account.name}`}
          schema={personSchema(isOwner || task.account.role === 'owner')}
          values={{ name: task.account.name, role: task.account.role }}
          onClose={close}
          onSave={(values) => sent({ method: 'PATCH', body: values }, `${String(values.name)} is changed.`)}
        />
      );
    case 'key':
      return (
        <FormDialog
          title={`A key for ${task.account.name}`}
          detail="Whoever holds it is this person. It is shown once."
          schema={{ type: 'object', properties: { label: { type: 'string', title: 'What it is for' } } }}
          action="Create"
          onClose={close}
          onSave={async (values) => {
            await attempt(async () => {
              const body = { label: values.label ?? '' };
              const { key } = await api.request<{ key: string }>(`${path}/keys`, { body });
              onChange();
              onTask({ name: 'shown', account: task.account, key });
            });
            // The key takes the place of this dialog.
            return false;
          }}
        />
      );
    case 'shown':
      return (
        <Dialog
          open
          onClose={close}
          title={`The key of ${task.account.name}`}
          detail="Copy it now: it is not shown again."
          actions={
            <Button variant="primary" onClick={close}>
              I have copied it
            </Button>
          }
        >
          <p className="flex items-center justify-between gap-2 rounded-small bg-sunken py-1 pr-1 pl-3">
            <code className="min-w-0 break-all text-12">{task.key}</code>
            <CopyButton value={task.key} label="Copy the key" />
          </p>
        </Dialog>
      );
    case 'link':
      return (
        <FormDialog
          title={`Link an identity to ${task.account.name}`}
          detail="Such as discord:1234, mail:ava@example.com or voice:ava. Whoever writes from there is this person."
          schema={{
            type: 'object',
            required: ['identity'],
            properties: { identity: { type: 'string', title: 'Identity', minLength: 1 } },
          }}
          action="Link"
          onClose={close}
          onSave={(values) =>
            sent({ body: values }, `${String(values.identity)} is ${task.account.name}.`, '/identities')
          }
        />
      );
    case 'revoke':
      return (
        <ConfirmDialog
          open
          title={`Revoke the key ${task.label}?`}
          detail="Programs that use it are refused from now on, and those that act for this person are disconnected."
          action="Revoke"
          onCancel={close}
          onConfirm={() =>
            confirmed({ method: 'DELETE' }, `The key ${task.label} is revoked.`, `/keys/${task.keyId}`)
          }
        />
      );
    case 'remove':
      return (
        <ConfirmDialog
          open
          title={`Remove ${task.account.name}?`}
          detail="Their keys and sessions end, and their identities are strangers again. What they own stays."
          action="Remove"
          onCancel={close}
          onConfirm={() => confirmed({ method: 'DELETE' }, `${task.account.name} is removed.`)}
        />
      );
  }
}

function personSchema(isOwner: boolean): JsonSchema {
  const offered = ROLES.filter(({ value }) => isOwner || value === 'guest' || value === 'member');
  return {
    type: 'object',
    required: ['name', 'role'],
    properties: {
      name: { type: 'string', title: 'Name', minLength: 1 },
      role: { title: 'Role', oneOf: offered.map(({ value, label }) => ({ const: value, title: label })) },
    },
  };
}

function Listed({ view: { listed, accounts } }: { view: AccountsView }) {
  if (listed.length === 0) return null;
  return (
    <Panel title="Listed in files" detail="These come from the files of services; change them there." flush>
      <ul>
        {listed.map(({ source, identity, name, role, accountId }) => (
          <li
            key={`${source} ${identity}`}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-4 py-2.5 text-14 last:border-b-0"
          >
            <span className="font-medium">{name}</span>
            <Badge>{role}</Badge>
            <code className="text-12 break-all text-muted">{identity}</code>
            <span className="ml-auto text-12 text-muted">
              {source}
              {accountId && `, is ${accounts.find(({ id }) => id === accountId)?.name ?? accountId}`}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
