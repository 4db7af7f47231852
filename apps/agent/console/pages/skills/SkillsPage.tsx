import { Button, ConfirmDialog, FormDialog, hashRoute, IconButton, ListPanel, useSend } from '@trunkline/ui';
import { BookOpen, MessageSquare, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { StoredSkill as Skill } from '../../../skills/skill-repository.ts';
import { useConfig, useLive, useLiveList } from '../../app/live.ts';
import { newSessionId } from '../../chat/ChatList.tsx';
import { PageFrame } from '../../shared/AgentShell.tsx';
import { SwitchRow } from '../../shared/SwitchRow.tsx';

const FORM = {
  type: 'object',
  required: ['name', 'body'],
  properties: {
    name: { type: 'string', title: 'Name', pattern: '[A-Za-z0-9]' },
    description: { type: 'string', title: 'When it fits' },
    body: { type: 'string', title: 'What to do', maxLength: 100_000 },
    tools: {
      type: 'array',
      title: 'Only these tools',
      items: { type: 'string' },
      description: 'One on each line; all tools when empty.',
    },
  },
};

const TRIAL = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', title: 'Say something', maxLength: 200_000 } },
};

/** Texts that tell the agent how something is done here. */
export default function SkillsPage() {
  const [edited, setEdited] = useState<Skill | 'new' | null>(null);
  const [tried, setTried] = useState<Skill | null>(null);
  const [deleting, setDeleting] = useState<Skill | null>(null);
  const { config, change, reload } = useConfig();
  const list = useLiveList<Skill>('/api/skills', 'skills', ['config']);
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
        hideTitle
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
  const { name, description, tools, enabled } = skill;
  return (
    <SwitchRow
      name={name}
      tools={tools}
      enabled={enabled}
      onEnable={onEnable}
      actions={
        <>
          <IconButton
            small
            label={`Try ${name}`}
            icon={<MessageSquare aria-hidden />}
            disabled={!enabled}
            onClick={onTry}
          />
          <IconButton small label={`Edit ${name}`} icon={<Pencil aria-hidden />} onClick={onEdit} />
          <IconButton small label={`Delete ${name}`} icon={<Trash2 aria-hidden />} onClick={onDelete} />
        </>
      }
    >
      <p className="break-words text-muted">{description}</p>
    </SwitchRow>
  );
}

function DeleteSkill({ skill, onClose }: { skill: Skill | null; onClose(): void }) {
  const send = useSend();
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
          void send(path, { method: 'DELETE' }, { title: 'Skill deleted.' });
        }
        onClose();
      }}
    />
  );
}

/** Begins a chat that follows the skill. */
function TrySkill({ skill, onClose }: { skill: Skill; onClose(): void }) {
  const send = useSend();
  const begin = async ({ text }: Readonly<Record<string, unknown>>) => {
    const session = newSessionId();
    const body = { text, skill: skill.name };
    const started = await send(`/api/chat/sessions/${session}/messages`, { body });
    if (started) window.location.assign(`/${hashRoute('chat', session)}`);
    return started;
  };
  return (
    <FormDialog
      title={`Try ${skill.name}`}
      detail="Begins a chat in which the agent follows it."
      schema={TRIAL}
      action="Begin the chat"
      onClose={onClose}
      onSave={begin}
    />
  );
}

/** Writes a skill. */
function SkillDialog({ skill, onClose }: { skill: Skill | undefined; onClose(): void }) {
  const send = useSend();
  const save = (values: Readonly<Record<string, unknown>>) => {
    const { tools, ...rest } = values;
    const listed = Array.isArray(tools) ? tools.filter((tool) => tool !== '') : [];
    const body = { ...rest, ...(listed.length > 0 && { tools: listed }) };
    const path = `/api/skills/${encodeURIComponent(skill?.slug ?? slugOf(String(values.name)))}`;
    return send(path, { method: 'PUT', body }, { title: 'Skill saved.' });
  };
  return (
    <FormDialog
      title={skill === undefined ? 'New skill' : `Edit ${skill.name}`}
      schema={FORM}
      values={skill && valuesOf(skill)}
      onClose={onClose}
      onSave={save}
    />
  );
}

function valuesOf({ name, description, body, tools = [] }: Skill) {
  return { name, description, body, tools };
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60);
}
