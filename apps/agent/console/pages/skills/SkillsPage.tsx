import {
  Badge,
  Button,
  ConfirmDialog,
  IconButton,
  ListPanel,
  SwitchField,
  useApi,
  useAttempt,
} from '@trunkline/ui';
import { BookOpen, MessageSquare, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useLive } from '../../app/live.ts';
import { PageFrame } from '../../app/PageFrame.tsx';
import { useWholeList } from '../../app/useWholeList.ts';
import { useConfig } from '../../shared/useConfig.ts';
import { SkillDialog } from './SkillDialog.tsx';
import { TrySkill } from './TrySkill.tsx';
import type { Skill } from './wire.ts';

/** Texts that tell the agent how something is done here. */
export default function SkillsPage() {
  const [edited, setEdited] = useState<Skill | 'new' | null>(null);
  const [tried, setTried] = useState<Skill | null>(null);
  const [deleting, setDeleting] = useState<Skill | null>(null);
  const { config, change, reload } = useConfig();
  const list = useWholeList<Skill>('/api/skills', 'skills', ['config']);
  useLive(['config'], reload);
  const enable = (name: string, on: boolean) => {
    const others = (config?.skills.disabled ?? []).filter((disabled) => disabled !== name);
    const value = on ? others : [...others, name];
    void change(on ? `${name} is on.` : `${name} is off.`, {
      op: 'set',
      path: ['skills', 'disabled'],
      value,
    });
  };
  return (
    <PageFrame
      title="Skills"
      intro="Texts that tell the agent how something is done. It reads one when it fits."
      actions={
        <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setEdited('new')}>
          New skill
        </Button>
      }
    >
      <ListPanel
        title="Skills"
        what="the skills"
        list={list}
        empty={{
          icon: <BookOpen aria-hidden />,
          title: 'No skills yet',
          next: 'Write one: a name, when it fits, and what to do.',
        }}
        itemKey={({ slug }) => slug}
      >
        {(skill) => (
          <Row
            skill={skill}
            onEnable={(on) => enable(skill.name, on)}
            onEdit={() => setEdited(skill)}
            onTry={() => setTried(skill)}
            onDelete={() => setDeleting(skill)}
          />
        )}
      </ListPanel>
      {edited !== null && (
        <SkillDialog skill={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />
      )}
      {tried !== null && <TrySkill skill={tried} onClose={() => setTried(null)} />}
      <DeleteSkill skill={deleting} onClose={() => setDeleting(null)} />
    </PageFrame>
  );
}

interface RowProps {
  skill: Skill;
  onEnable(on: boolean): void;
  onEdit(): void;
  onTry(): void;
  onDelete(): void;
}

function Row({ skill, onEnable, onEdit, onTry, onDelete }: RowProps) {
  return (
    <li className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium">{skill.name}</p>
        <p className="break-words text-muted">{skill.description}</p>
        <p className="mt-1 flex flex-wrap gap-1">
          {(skill.tools ?? []).map((tool) => (
            <Badge key={tool}>{tool}</Badge>
          ))}
        </p>
      </div>
      <SwitchField label={`Use ${skill.name}`} checked={skill.enabled} onChange={onEnable} />
      <div className="flex">
        <IconButton
          small
          label={`Try ${skill.name}`}
          icon={<MessageSquare aria-hidden />}
          disabled={!skill.enabled}
          onClick={onTry}
        />
        <IconButton small label={`Edit ${skill.name}`} icon={<Pencil aria-hidden />} onClick={onEdit} />
        <IconButton small label={`Delete ${skill.name}`} icon={<Trash2 aria-hidden />} onClick={onDelete} />
      </div>
    </li>
  );
}

function DeleteSkill({ skill, onClose }: { skill: Skill | null; onClose(): void }) {
  const api = useApi();
  const attempt = useAttempt();
  return (
    <ConfirmDialog
      open={skill !== null}
      title={`Delete the skill ${skill?.name ?? ''}?`}
      detail="Its folder is removed, with all that is in it."
      action="Delete"
      onCancel={onClose}
      onConfirm={() => {
        if (skill) {
          const path = `/api/skills/${encodeURIComponent(skill.slug)}`;
          void attempt(() => api.request(path, { method: 'DELETE' }), { title: 'Skill deleted.' });
        }
        onClose();
      }}
    />
  );
}
