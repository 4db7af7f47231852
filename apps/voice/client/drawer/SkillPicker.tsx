import { errorMessage } from '@trunkline/std';
import { Badge, Button, type Resource, SelectField, useApi, useToast } from '@trunkline/ui';
import { useState } from 'react';
import type { Account, Skills } from '../../api-types.ts';
import { activeSkill } from '../account.ts';
import { ask } from './errorBody.ts';

interface SkillPickerProps {
  account: Account | undefined;
  skills: Resource<Skills>;
  isLive: boolean;
  onRestart(): void;
}

/** Who answers: a list, or a word where there is nothing to choose. */
export function SkillPicker({ account, skills, isLive, onRestart }: SkillPickerProps) {
  const api = useApi();
  const toast = useToast();
  const [changed, setChanged] = useState(false);
  const known = skills.body;
  const active = activeSkill(known);
  if (known === undefined) return null;
  if (account?.allowed_skills?.length === 1) return <SkillChip name={active?.name ?? known.active} />;
  const choose = async (slug: string) => {
    try {
      await ask(api, '/api/skills', { body: { slug } });
      setChanged(isLive);
      skills.reload();
    } catch (error) {
      toast({ title: 'The skill was not changed.', detail: errorMessage(error), state: 'failed' });
    }
  };
  return (
    <div className="flex flex-col gap-2">
      <SelectField
        label="Skill"
        value={known.active}
        options={known.skills.map(({ slug, name }) => ({ value: slug, label: name }))}
        hint={active?.description}
        onChange={(event) => void choose(event.target.value)}
      />
      {changed && isLive && (
        <div className="flex flex-wrap items-center gap-2 rounded-corner bg-accent-wash px-3 py-2 text-14">
          <p className="flex-1">This counts from the next call on.</p>
          <Button size="small" onClick={onRestart}>
            Start again now
          </Button>
        </div>
      )}
    </div>
  );
}

function SkillChip({ name }: { name: string }) {
  return (
    <div className="flex flex-col gap-1">
      <p className="font-medium text-14">Skill</p>
      <div>
        <Badge tone="accent">{name}</Badge>
      </div>
    </div>
  );
}
