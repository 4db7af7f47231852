import { callerGuard, requireOperator } from '@trunkline/http';
import type { VoiceApp, VoiceComponents } from '../components.ts';
import { advertiseApiKey } from '../turn/text-turn.ts';
import type { User } from '../users/user.ts';
import { mountCallback } from './callback.ts';
import { mountCalls } from './calls.ts';
import { mountSkills, mountVoice } from './skills.ts';
import { mountReloads, mountUsers } from './users.ts';

/** Every route of the service but `/healthz`, `/metrics` and the page. Those under /api come after their guards. */
export function mountRoutes(app: VoiceApp, voice: VoiceComponents): void {
  guardApi(app, voice);
  mountUsers(app, voice); //    GET /api/whoami   GET, POST /api/verbosity   GET /api/metrics
  mountSkills(app, voice); //   GET, POST /api/skills   POST /api/admin/skills
  mountReloads(app, voice); //  POST /api/users/reload, /api/skills/reload, /api/delegates/reload
  mountVoice(app, voice); //    GET /api/voice/references   POST /api/voice/clone
  mountCalls(app, voice); //    POST, PATCH, DELETE /api/offer   GET /api/ice
  mountCallback(app, voice); // POST /a2a/callback, with a guard of its own
  for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json'])
    app.use(path, advertiseApiKey());
  voice.a2a.mount(app); //      POST /a2a and the other routes of A2A, the agent card
}

/** Routes that change how the service answers. */
const configuringPaths = [
  '/api/users/reload',
  '/api/skills/reload',
  '/api/delegates/reload',
  '/api/admin/skills',
  '/api/voice/clone',
];

function guardApi(app: VoiceApp, { users, admission, operator }: VoiceComponents): void {
  const { openCaller, trustedCaller, refuse } = admission;
  app.use(
    '/api/*',
    callerGuard<User>({
      keyring: () => users.keyring,
      openCaller,
      trustedCaller,
      principalOf: ({ id }) => ({ kind: 'person', id: `voice:${id}`, via: [] }),
      refuse,
    }),
  );
  // Whoever has no key of their own, as everybody in single-user mode, needs the operator's there.
  const guard = requireOperator(operator);
  for (const path of configuringPaths)
    app.use(path, (context, next) =>
      context.get('principal').kind === 'anonymous' ? guard(context, next) : next(),
    );
}
