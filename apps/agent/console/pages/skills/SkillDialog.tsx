import { FormDialog, useApi, useAttempt } from '@trunkline/ui';
import type { Skill } from './wire.ts';

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

/** Writes a skill. */
export function SkillDialog({ skill, onClose }: { skill: Skill | undefined; onClose(): void }) {
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
