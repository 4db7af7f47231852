import { describeRoute } from '@trunkline/http';
import { wordsOf } from '../errors.ts';
import type { UserDirectory } from '../users/directory.ts';
import type { VoiceApp } from './voice-app.ts';

export function mountUsers(app: VoiceApp, users: UserDirectory): void {
  app.get('/api/whoami', describeRoute({ summary: 'Who the caller is' }), (context) => {
    const { id, displayName, role, allowedSkills, pinnedViz } = context.get('caller');
    return context.json({
      id,
      display_name: displayName,
      role,
      allowed_skills: allowedSkills,
      pinned_viz: pinnedViz,
      auth_source: users.source,
    });
  });

  app.post('/api/users/reload', describeRoute({ summary: 'Read the roster anew' }), async (context) => {
    try {
      await users.reload();
    } catch (error) {
      return context.json({ error: wordsOf(error) });
    }
    return context.json({ ok: true, users: users.ids, source: users.source });
  });
}
