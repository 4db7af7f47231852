import { describeRoute, validate } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import type { Account } from '../api-types.ts';
import type { RouteDeps, VoiceApp } from '../components.ts';
import { isVerbosity, verbosityLevels } from '../skills/skill.ts';

type UserDeps = Pick<RouteDeps, 'users' | 'preferences' | 'options' | 'counters' | 'sessions' | 'latency'>;

/** Who the caller is and what they have chosen, and the metrics that every user may see. */
export function mountUsers(app: VoiceApp, { users, preferences, options, ...metrics }: UserDeps): void {
  app.get('/api/whoami', describeRoute({ summary: 'Who the caller is' }), (context) => {
    const { id, displayName, role, allowedSkills, pinnedViz } = context.get('caller');
    return context.json<Account>({
      id,
      display_name: displayName,
      role,
      allowed_skills: allowedSkills,
      pinned_viz: pinnedViz,
      auth_source: users.source,
    });
  });

  app.get('/api/verbosity', describeRoute({ summary: 'How much is said to the caller' }), (context) =>
    context.json({ verbosity: preferences.verbosityOf(context.get('caller').id) ?? options.verbosity }),
  );

  app.post(
    '/api/verbosity',
    describeRoute({ summary: 'Choose how much is said to the caller' }),
    validate('json', z.object({ level: z.string() })),
    (context) => {
      const level = context.req.valid('json').level.trim().toLowerCase();
      if (!isVerbosity(level)) return context.json({ error: `level must be ${verbosityLevels.join('|')}` });
      preferences.chooseVerbosity(context.get('caller').id, level);
      return context.json({ verbosity: level });
    },
  );

  const { counters, sessions, latency } = metrics;
  const summary = 'Counters since the start, and how quickly the last turns were answered';
  app.get('/api/metrics', describeRoute({ summary }), (context) =>
    context.json({ ...counters.record(sessions.size), turn_latency: latency.summary() }),
  );
}

type Reloaded = Pick<RouteDeps, 'users' | 'library' | 'selection' | 'delegates'>;

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
