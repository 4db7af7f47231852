import type { SecretInfo, SecretsView } from '@trunkline/std';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { Button, CopyButton } from '../../src/components/Button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../src/components/Dialog.tsx';
import { EmptyState } from '../../src/components/EmptyState.tsx';
import { TextField } from '../../src/components/Field.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { RelativeTime } from '../../src/components/RelativeTime.tsx';
import { useResource, useSend } from '../../src/hooks/useResource.ts';

const PATH = '/operator/secrets';

/** Names, changes and uses of the stored secrets. Values go in and never come out. */
export default function SecretsTab() {
  const resource = useResource<SecretsView>(PATH);
  const [edited, setEdited] = useState<string>();
  const [removed, setRemoved] = useState<string>();
  const send = useSend();
  const add = (
    <Button size="small" icon={<Plus aria-hidden />} onClick={() => setEdited('')}>
      Add a secret
    </Button>
  );
  const remove = async (name: string) => {
    setRemoved(undefined);
    const request = { method: 'DELETE' as const };
    if (await send(pathOf(name), request, { title: `Removed ${name}.` })) resource.reload();
  };
  return (
    <>
      <Panel
        title="Secrets"
        hideTitle
        detail="Keys and tokens by name, encrypted. Settings refer to one as ${secret:name}; no value is ever shown."
        actions={add}
        flush
      >
        <Loaded resource={resource} failed="The secrets could not be loaded.">
          {({ secrets, key }) => (
            <>
              {secrets.length === 0 && (
                <EmptyState
                  icon={<KeyRound aria-hidden />}
                  title="No secret is stored yet"
                  next="Add one, or move those of .env and of the YAML files here with: npx trunkline secret import"
                />
              )}
              <ul>
                {secrets.map((secret) => (
                  <Secret key={secret.name} secret={secret} onChange={setEdited} onRemove={setRemoved} />
                ))}
              </ul>
              {secrets.length > 0 && (
                <p className="break-words border-line border-t px-4 py-2 text-12 text-muted">
                  The key that opens them is in {key}. Keep a copy of it elsewhere: backups leave it out.
                </p>
              )}
            </>
          )}
        </Loaded>
      </Panel>
      {edited !== undefined && (
        <SecretDialog
          name={edited}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined);
            resource.reload();
          }}
        />
      )}
      <ConfirmDialog
        open={removed !== undefined}
        title={`Remove the secret ${removed}?`}
        detail="Its value is lost. Whatever refers to it fails from its next reload on."
        action="Remove"
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => removed !== undefined && void remove(removed)}
      />
    </>
  );
}

interface SecretProps {
  secret: SecretInfo;
  onChange(name: string): void;
  onRemove(name: string): void;
}

function Secret({ secret: { name, changedAt, usedAt, users }, onChange, onRemove }: SecretProps) {
  const reference = `\${secret:${name}}`;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex items-center gap-1 font-mono text-14">
          <span className="break-all">{name}</span>
          <CopyButton value={reference} label={`Copy the reference to ${name}`} />
        </p>
        <p className="text-12 text-muted">
          Changed <RelativeTime at={changedAt} />
          {usedAt === null ? ', never used' : ', used '}
          {usedAt !== null && <RelativeTime at={usedAt} />}
        </p>
        {users.length > 0 && (
          <ul className="mt-1 font-mono text-12 text-muted">
            {users.map(({ user }) => (
              <li key={user} className="break-all">
                {user}
              </li>
            ))}
          </ul>
        )}
      </div>
      <Button aria-label={`Change ${name}`} onClick={() => onChange(name)}>
        Change
      </Button>
      <Button variant="danger" aria-label={`Remove ${name}`} onClick={() => onRemove(name)}>
        Remove
      </Button>
    </li>
  );
}

interface SecretDialogProps {
  /** Blank for a new one. */
  name: string;
  onClose(): void;
  onSaved(): void;
}

function SecretDialog({ name: known, onClose, onSaved }: SecretDialogProps) {
  const send = useSend();
  const [name, setName] = useState(known);
  const [value, setValue] = useState('');
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const saved = await send(pathOf(name), { method: 'PUT', body: { value } }, { title: `Stored ${name}.` });
    setBusy(false);
    if (saved) onSaved();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={known === '' ? 'Add a secret' : `Change ${known}`}
      detail="Files that refer to it are read again by themselves; variables count from the next start."
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div className="flex flex-col gap-4 px-6">
          {known === '' && (
            <TextField
              label="Name"
              hint="Letters, digits, dots, dashes and underscores."
              mono
              required
              pattern="[A-Za-z0-9][A-Za-z0-9_.\-]{0,99}"
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
          <TextField
            label="Value"
            type="password"
            required
            autoComplete="new-password"
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        </div>
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" variant="primary" busy={busy}>
            Store
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function pathOf(name: string): string {
  return `${PATH}/${encodeURIComponent(name)}`;
}
