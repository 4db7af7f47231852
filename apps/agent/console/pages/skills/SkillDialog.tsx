import { Button, Dialog, SchemaForm, useApi, useAttempt } from '@trunkline/ui';
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
  const save = async (values: Readonly<Record<string, unknown>>) => {
    const { tools, ...rest } = values;
    const listed = Array.isArray(tools) ? tools.filter((tool) => tool !== '') : [];
    const body = { ...rest, ...(listed.length > 0 && { tools: listed }) };
    const slug = skill?.slug ?? slugOf(String(values.name));
    const write = () => api.request(`/api/skills/${encodeURIComponent(slug)}`, { method: 'PUT', body });
    if (await attempt(write, { title: 'Skill saved.' })) onClose();
  };
  return (
    <Dialog open wide onClose={onClose} title={skill === undefined ? 'New skill' : `Edit ${skill.name}`}>
      <SchemaForm
        schema={FORM}
        {...(skill && { values: valuesOf(skill) })}
        onSubmit={(values) => void save(values)}
        actions={
          <>
            <Button onClick={onClose}>Leave it</Button>
            <Button type="submit" variant="primary">
              Save
            </Button>
          </>
        }
      />
    </Dialog>
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
