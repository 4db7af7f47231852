import { describeRoute, validate } from '@trunkline/http';
import { z } from 'zod';
import { isVerbosity, type Verbosity, verbosityLevels } from '../skills/verbosity.ts';
import type { Preferences } from '../users/preferences.ts';
import type { VoiceApp } from './voice-app.ts';

export interface VerbosityRouteOptions {
  preferences: Preferences;
  /** Of users who have chosen nothing. */
  standard: Verbosity;
}

export function mountVerbosity(app: VoiceApp, { preferences, standard }: VerbosityRouteOptions): void {
  app.get('/api/verbosity', describeRoute({ summary: 'How much is said to the caller' }), (context) =>
    context.json({ verbosity: preferences.verbosityOf(context.get('caller').id) ?? standard }),
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
}
