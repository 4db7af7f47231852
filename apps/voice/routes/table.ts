import { callerGuard, requireOperator } from '@trunkline/http';
import type { RouteDeps, VoiceApp, VoiceComponents } from '../components.ts';
import { advertiseApiKey } from '../turn/text-turn.ts';
import type { User } from '../users/user.ts';
import { mountCallback } from './callback.ts';
import { mountCalls } from './calls.ts';
import { mountSetup } from './setup.ts';
import { mountAdminSkill, mountOwnSkill, mountVoice } from './skills.ts';
import { mountReloads, mountUsers } from './users.ts';

/** Every route group of the service, in the order in which a request meets them. */
const routeGroups: readonly ((app: VoiceApp, deps: RouteDeps) => void)[] = [
  guardApi, //        /api/*
  mountUsers, //      GET /api/whoami   GET, POST /api/verbosity   GET /api/metrics
  mountOwnSkill, //   GET, POST /api/skills
  mountAdminSkill, // POST /api/admin/skills
  mountReloads, //    POST /api/users/reload, /api/skills/reload, /api/delegates/reload
  mountVoice, //      GET /api/voice/references   POST /api/voice/clone
  mountSetup, //      GET /operator/setup/speech   POST /operator/setup/speech/say, .../hear
  mountCalls, //      POST, PATCH, DELETE /api/offer   GET /api/ice   POST, DELETE /api/lines
  mountCallback, //   POST /a2a/callback, with a guard of its own
  mountA2a, //        POST /a2a and the other routes of A2A, the agent card
];

/** Mounts every route but `/healthz`, `/metrics` and the page. */
export function mountRoutes(app: VoiceApp, voice: VoiceComponents): void {
  for (const mount of routeGroups) mount(app, { ...voice, ...voice.context });
}

/** Routes that change how the service answers. */
const configuringPaths = [
  '/api/users/reload',
  '/api/skills/reload',
  '/api/delegates/reload',
  '/api/admin/skills',
  '/api/voice/clone',
];

/** What a call and its page need. */
const guestPaths = ['/api/whoami', '/api/ice', '/api/lines', '/api/offer', '/api/skills', '/api/verbosity'];

function guardApi(app: VoiceApp, { users, admission, operator }: RouteDeps): void {
  const { openCaller, trustedCaller, refuse } = admission;
  app.use(
    '/api/*',
    callerGuard<User>({
      keyring: () => users.keyring,
      openCaller,
      trustedCaller,
      guestPaths,
      principalOf: ({ id }) => ({ kind: 'person', id: `voice:${id}`, via: [] }),
      refuse,
    }),
  );
  // Whoever has no key of the roster, as everybody in single-user mode, must be the operator there; so must guests.
  const guard = requireOperator(operator);
  for (const path of configuringPaths)
    app.use(path, (context, next) => {
      const { kind, id, role } = context.get('principal');
      const mayConfigure = kind !== 'anonymous' && role !== 'guest' && id !== context.get('caller').id;
      return mayConfigure ? next() : guard(context, next);
    });
}

function mountA2a(app: VoiceApp, { a2a }: RouteDeps): void {
  for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json'])
    app.use(path, advertiseApiKey());
  a2a.mount(app);
}
