import {
  Button,
  CheckboxField,
  IconButton,
  Lamp,
  Panel,
  SelectField,
  SwitchField,
  TextAreaField,
  TextField,
} from '@trunkline/ui';
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { AgentDefinition } from '../../../workspace/schema/agent.ts';
import { EditForm, type FileFormProps } from '../../shared/FilePage.tsx';
import { NameField } from '../../shared/NameField.tsx';
import { TOOL_LABELS } from '../../shared/topics.ts';

const ROLES: Record<AgentDefinition['role'], string> = {
  general: 'General',
  orchestrator: 'Orchestrator: hands work to others',
  research: 'Research',
  content: 'Content',
  qa: 'Quality assurance',
  devops: 'DevOps',
};

interface SkillDraft {
  key: string;
  /** As the file has it; fields that the form does not show stay. */
  given: Readonly<Record<string, unknown>>;
  name: string;
  description: string;
  keywords: string;
}

/** An agent in words: who it is, what it may use, and what it can be asked for. */
export function AgentForm({ values, fresh, busy, onSave }: FileFormProps) {
  const given = values as Partial<AgentDefinition>;
  const [name, setName] = useState(given.name ?? '');
  const [role, setRole] = useState<string>(given.role ?? 'general');
  const [model, setModel] = useState(given.model ?? '');
  const [prompt, setPrompt] = useState(given.systemPrompt ?? '');
  const [tools, setTools] = useState<readonly string[]>(given.tools ?? []);
  const [isPublic, setPublic] = useState(given.public ?? false);
  const [skills, setSkills] = useState<readonly SkillDraft[]>(() => (given.skills ?? []).map(draftOf));
  const save = () =>
    onSave({
      name: name.trim(),
      role,
      model: model.trim() || null,
      systemPrompt: prompt,
      tools,
      public: isPublic || null,
      skills: skills.filter((skill) => skill.name.trim() !== '').map(skillOf),
    });
  const use = (tool: string, on: boolean) =>
    setTools(on ? [...tools, tool] : tools.filter((each) => each !== tool));
  return (
    <EditForm busy={busy} onSubmit={save}>
      <Panel title="Who it is">
        <div className="flex flex-col gap-4">
          {fresh && <NameField value={name} onChange={setName} />}
          <SelectField
            label="Role"
            value={role}
            options={Object.entries(ROLES).map(([value, label]) => ({ value, label }))}
            onChange={(event) => setRole(event.target.value)}
          />
          <TextAreaField
            label="Instructions"
            required
            rows={6}
            hint="What it is told before every request."
            value={prompt}
            onChange={(event) => setPrompt(event.target.value)}
          />
          <TextField
            label="Model (optional)"
            mono
            hint="The model of the switchboard when left empty."
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
          <SwitchField
            label="Senders who are not paired may talk to it"
            checked={isPublic}
            onChange={setPublic}
          />
        </div>
      </Panel>
      <Panel title="Tools">
        <div className="grid gap-2 sm:grid-cols-2">
          {Object.entries(TOOL_LABELS).map(([tool, label]) => (
            <CheckboxField
              key={tool}
              label={label}
              checked={tools.includes(tool)}
              onChange={(on) => use(tool, on)}
            />
          ))}
        </div>
      </Panel>
      <Skills skills={skills} onChange={setSkills} />
    </EditForm>
  );
}

interface SkillsProps {
  skills: readonly SkillDraft[];
  onChange(skills: readonly SkillDraft[]): void;
}

function Skills({ skills, onChange }: SkillsProps) {
  const change = (key: string, part: Partial<SkillDraft>) =>
    onChange(skills.map((skill) => (skill.key === key ? { ...skill, ...part } : skill)));
  const add = () => onChange([...skills, draftOf({ name: '' })]);
  return (
    <Panel
      title="Skills"
      detail="What it can be asked for. A message that has one of the keywords is taken there."
      actions={
        <Button size="small" icon={<Plus aria-hidden />} onClick={add}>
          Add a skill
        </Button>
      }
    >
      {skills.length === 0 && (
        <p className="flex items-start gap-3">
          <Lamp state="waiting" dotOnly className="mt-0.5" />
          No skill yet, so no route reaches it. Add one.
        </p>
      )}
      <ul className="flex flex-col gap-4">
        {skills.map((skill, index) => (
          <li key={skill.key} className="flex items-start gap-2">
            <div className="grid min-w-0 flex-1 gap-3 sm:grid-cols-3">
              <TextField
                label="Skill"
                required
                mono
                value={skill.name}
                onChange={(event) => change(skill.key, { name: event.target.value })}
              />
              <TextField
                label="What it does"
                value={skill.description}
                onChange={(event) => change(skill.key, { description: event.target.value })}
              />
              <TextField
                label="Keywords, separated by commas"
                value={skill.keywords}
                onChange={(event) => change(skill.key, { keywords: event.target.value })}
              />
            </div>
            <IconButton
              label={`Remove skill ${index + 1}`}
              icon={<Trash2 aria-hidden />}
              onClick={() => onChange(skills.filter(({ key }) => key !== skill.key))}
              className="mt-6"
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

let drafts = 0;

function draftOf(given: Partial<AgentDefinition['skills'][number]>): SkillDraft {
  drafts += 1;
  const { name = '', description = '', keywords = [] } = given;
  return { key: String(drafts), given, name, description, keywords: keywords.join(', ') };
}

function skillOf({ given, name, description, keywords }: SkillDraft) {
  const { description: _, keywords: _before, ...rest } = given;
  const words = keywords
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);
  return {
    ...rest,
    name: name.trim(),
    ...(description.trim() !== '' && { description: description.trim() }),
    ...(words.length > 0 && { keywords: words }),
  };
}
