import { errorMessage } from '@trunkline/std';
import { Button, Panel, type Resource, SelectField, TextField, useApi, useToast } from '@trunkline/ui';
import { useState } from 'react';
import type { Skills } from '../../api-types.ts';
import { ask } from './errorBody.ts';

const RELOADS = [
  { path: '/api/skills/reload', label: 'Reload the skills', field: 'skills', noun: 'Skills' },
  { path: '/api/users/reload', label: 'Reload the users', field: 'users', noun: 'Users' },
  { path: '/api/delegates/reload', label: 'Reload the delegates', field: 'delegates', noun: 'Delegates' },
] as const;

/** What only admins may do to the service. */
export function AdminTab({ skills }: { skills: Resource<Skills> }) {
  return (
    <div className="flex flex-col gap-4">
      <ReloadPanel onReloaded={skills.reload} />
      <AssignPanel skills={skills.body} />
    </div>
  );
}

function ReloadPanel({ onReloaded }: { onReloaded(): void }) {
  const api = useApi();
  const toast = useToast();
  const reload = async ({ path, field, noun }: (typeof RELOADS)[number]) => {
    try {
      const body = await ask<Record<string, unknown>>(api, path, { method: 'POST' });
      const names = body[field];
      const detail = Array.isArray(names) && names.length > 0 ? names.join(', ') : 'There are none.';
      toast({ title: `${noun} read anew.`, detail, state: 'live' });
      onReloaded();
    } catch (error) {
      toast({ title: `${noun} kept as they were.`, detail: errorMessage(error), state: 'failed' });
    }
  };
  return (
    <Panel title="Files" detail="Reads changed files anew. Calls under way keep what they began with.">
      <div className="flex flex-col gap-2">
        {RELOADS.map((entry) => (
          <Button key={entry.path} onClick={() => void reload(entry)}>
            {entry.label}
          </Button>
        ))}
      </div>
    </Panel>
  );
}

function AssignPanel({ skills }: { skills: Skills | undefined }) {
  const api = useApi();
  const toast = useToast();
  const [user, setUser] = useState('');
  const [chosen, setChosen] = useState('');
  const slug = chosen || (skills?.skills[0]?.slug ?? '');
  const assign = async () => {
    try {
      await ask(api, '/api/admin/skills', { body: { user_id: user.trim(), slug } });
      toast({ title: `${user.trim()} gets ${slug}, from the next call on.`, state: 'live' });
    } catch (error) {
      toast({ title: 'The skill was not set.', detail: errorMessage(error), state: 'failed' });
    }
  };
  return (
    <Panel
      title="A user's skill"
      detail="Also one outside their list; they keep it until they choose another."
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void assign();
        }}
      >
        <TextField label="User id" mono value={user} onChange={({ target }) => setUser(target.value)} />
        <SelectField
          label="Skill of the user"
          value={slug}
          options={(skills?.skills ?? []).map((skill) => ({ value: skill.slug, label: skill.name }))}
          onChange={({ target }) => setChosen(target.value)}
        />
        <Button type="submit" disabled={user.trim() === ''}>
          Set the skill
        </Button>
      </form>
    </Panel>
  );
}
