import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { type SkillRepository, skillSlug } from '../../skills/skill-repository.ts';
import { consoleErrors } from './errors.ts';

const newSkill = z.object({
  name: z.string().trim().min(1).max(100),
  description: z.string().trim().max(1000).default(''),
  tools: z.array(z.string()).optional(),
  body: z.string().trim().min(1).max(100_000),
});

export interface SkillRoutes {
  skills: SkillRepository;
  onSkillsChange(): void;
}

/** The skills of the agent: those it may follow, and those that are switched off. */
export function mountSkills(app: Hono<AppEnv>, { skills, onSkillsChange }: SkillRoutes): void {
  app.get('/api/skills', describeRoute({ summary: 'Skills of the agent' }), async (context) =>
    context.json({ skills: await skills.all() }),
  );
  app.put(
    '/api/skills/:slug',
    describeRoute({ summary: 'Write a skill', description: 'The slug is the folder it is kept in.' }),
    validate('json', newSkill),
    async (context) => {
      const slug = context.req.param('slug');
      if (skillSlug(slug) !== slug) throw consoleErrors.config_invalid({ words: badSlug(slug) });
      await skills.write(slug, context.req.valid('json'));
      onSkillsChange();
      return context.json({ ok: true });
    },
  );
  app.delete('/api/skills/:slug', describeRoute({ summary: 'Delete a skill' }), async (context) => {
    const slug = context.req.param('slug');
    if (!(await skills.remove(slug))) throw consoleErrors.not_found({ what: `skill in the folder ${slug}` });
    onSkillsChange();
    return context.json({ ok: true });
  });
}

function badSlug(slug: string): string {
  return `${JSON.stringify(slug)} is no name for a folder: use small letters, digits and -, such as ${skillSlug(slug) || 'my-skill'}.`;
}
