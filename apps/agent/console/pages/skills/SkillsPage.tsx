import {
  Badge,
  Button,
  ConfirmDialog,
  Dialog,
  FormDialog,
  hashRoute,
  IconButton,
  ListPanel,
  SwitchField,
  TextAreaField,
  useApi,
  useAttempt,
} from '@trunkline/ui';
import { BookOpen, MessageSquare, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useConfig, useLive, useWholeList } from '../../app/live.ts';
import { newSessionId } from '../../chat/ChatList.tsx';
import { PageFrame } from '../../shared/AgentShell.tsx';

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

/** Begins a chat that follows the skill. */
function TrySkill({ skill, onClose }: { skill: Skill; onClose(): void }) {
  const api = useApi();
  const attempt = useAttempt();
  const [text, setText] = useState('');
  const begin = async () => {
    const session = newSessionId();
    const body = { text: text.trim(), skill: skill.name };
    const started = await attempt(() => api.request(`/api/chat/sessions/${session}/messages`, { body }));
    if (started) window.location.assign(`/${hashRoute('chat', session)}`);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Try ${skill.name}`}
      detail="Begins a chat in which the agent follows it."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '') void begin();
        }}
      >
        <TextAreaField
          label="Say something"
          autoFocus
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="flex justify-end">
          <Button type="submit" variant="primary" disabled={text.trim() === ''}>
            Begin the chat
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Writes a skill. */
function SkillDialog({ skill, onClose }: { skill: Skill | undefined; onClose(): void }) {
  const api = useApi();
  const attempt = useAttempt();
  const save = (values: Readonly<Record<string, unknown>>) => {
    const { tools, ...rest } = values;
    const listed = Array.isArray(tools) ? tools.filter((tool) => tool !== '') : [];
    const body = { ...rest, ...(listed.length > 0 && { tools: listed }) };
    const path = `/api/skills/${encodeURIComponent(skill?.slug ?? slugOf(String(values.name)))}`;
    return attempt(() => api.request(path, { method: 'PUT', body }), { title: 'Skill saved.' });
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

interface Skill {
  slug: string;
  name: string;
  description: string;
  tools?: string[];
  body: string;
  enabled: boolean;
}
