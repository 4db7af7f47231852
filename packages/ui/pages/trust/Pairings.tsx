import type { AccountRole, AccountsView } from '@trunkline/std';
import { useState } from 'react';
import { Button } from '../../src/components/Button.tsx';
import { Dialog } from '../../src/components/Dialog.tsx';
import { SelectField, TextField } from '../../src/components/Field.tsx';
import { Panel } from '../../src/components/Panel.tsx';
import { RelativeTime } from '../../src/components/RelativeTime.tsx';
import { useSend } from '../../src/hooks/useResource.ts';

type Pairing = AccountsView['pairings'][number];

const NEW = '';

interface PairingsProps {
  view: AccountsView;
  onChange(): void;
}

/** People who wrote on chat or mail and whom nobody knows yet. */
export function Pairings({ view, onChange }: PairingsProps) {
  const send = useSend();
  const [chosen, setChosen] = useState<Pairing>();
  if (view.pairings.length === 0) return null;
  const refuse = async ({ identity, display }: Pairing) => {
    const done = { title: `${display || identity} is refused.` };
    if (await send('/operator/accounts/pairings/refuse', { body: { identity } }, done)) onChange();
  };
  return (
    <Panel
      title="They ask to be let in"
      detail="Until you approve, they are guests: they may talk, and no tool does anything for them."
      flush
    >
      <ul>
        {view.pairings.map((pairing) => (
          <li
            key={pairing.identity}
            className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-3 last:border-b-0"
          >
            <div className="min-w-0 flex-1 basis-48">
              <p className="font-medium break-words">{pairing.display || pairing.identity}</p>
              <p className="text-12 text-muted">
                <code className="break-all">{pairing.identity}</code>, asked{' '}
                <RelativeTime at={pairing.requestedAt} />, ends <RelativeTime at={pairing.expiresAt} />
              </p>
            </div>
            <div className="flex gap-2">
              <Button size="small" onClick={() => void refuse(pairing)}>
                Refuse
              </Button>
              <Button size="small" variant="primary" onClick={() => setChosen(pairing)}>
                Approve
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {chosen && (
        <Approve pairing={chosen} view={view} onChange={onChange} onClose={() => setChosen(undefined)} />
      )}
    </Panel>
  );
}

function Approve({
  pairing,
  view,
  onChange,
  onClose,
}: PairingsProps & { pairing: Pairing; onClose(): void }) {
  const send = useSend();
  const [accountId, setAccountId] = useState(NEW);
  const [name, setName] = useState(pairing.display);
  const [role, setRole] = useState('member');
  const approve = async () => {
    const account = accountId === NEW ? { name, role } : { accountId };
    const body = { pairing: { identity: pairing.identity }, account };
    const done = { title: `${pairing.identity} is paired.` };
    if (!(await send('/operator/accounts/pairings/approve', { body }, done))) return;
    onChange();
    onClose();
  };
  const people = view.accounts.map(({ id, name: given }) => ({ value: id, label: given }));
  const roles = ROLES.filter(({ value }) => view.isOwner || value === 'guest' || value === 'member');
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Who is ${pairing.display || pairing.identity}?`}
      detail="Ask them for the code that they were sent if you are not sure who writes."
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button
            variant="primary"
            disabled={accountId === NEW && name.trim() === ''}
            onClick={() => void approve()}
          >
            Approve
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <SelectField
          label="Person"
          options={[{ value: NEW, label: 'Somebody new' }, ...people]}
          value={accountId}
          onChange={(event) => setAccountId(event.target.value)}
        />
        {accountId === NEW && (
          <>
            <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />
            <SelectField
              label="Role"
              options={roles}
              value={role}
              onChange={(event) => setRole(event.target.value)}
            />
          </>
        )}
      </div>
    </Dialog>
  );
}

export const ROLES: readonly { value: AccountRole; label: string }[] = [
  { value: 'guest', label: 'Guest: talks to public agents' },
  { value: 'member', label: 'Member: uses agents and tools' },
  { value: 'operator', label: 'Operator: configures and approves' },
  { value: 'owner', label: 'Owner: everything, and appoints operators' },
];
