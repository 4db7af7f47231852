import { describeRoute } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import type { VoiceApp, VoiceComponents } from '../components.ts';

type Reloaded = Pick<VoiceComponents, 'users' | 'library' | 'selection' | 'delegates'>;

/** Routes that read a configuration file again. A broken file changes nothing and is answered with its error. */
export function mountReloads(app: VoiceApp, { users, library, selection, delegates }: Reloaded): void {
  app.post('/api/users/reload', describeRoute({ summary: 'Read the roster anew' }), async (context) => {
    const error = await failureOf(users.reload());
    return context.json(error ?? { ok: true, users: users.ids, source: users.source });
  });
  app.post('/api/skills/reload', describeRoute({ summary: 'Read all skills anew' }), async (context) => {
    const error = await failureOf(library.reload());
    const active = () => selection.activeFor(context.get('caller'));
    return context.json(error ?? { ok: true, skills: library.slugs, active: active() });
  });
  app.post(
    '/api/delegates/reload',
    describeRoute({ summary: 'Read the delegates anew' }),
    async (context) => {
      const error = await failureOf(delegates.reload());
      return context.json(error ?? { ok: true, delegates: delegates.entries.map(({ name }) => name) });
    },
  );
}

async function failureOf(reload: Promise<void>): Promise<{ error: string } | undefined> {
  try {
    await reload;
    return undefined;
  } catch (error) {
    return { error: errorMessage(error) };
  }
}
