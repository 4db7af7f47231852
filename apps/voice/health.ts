import type { ModelDescription } from '@trunkline/llm';
import { type Missing, missingModel, type ServiceLink } from '@trunkline/service';
import type { DelegateRepository } from './delegates/repository.ts';
import type { VoiceOptions } from './options.ts';
import type { SessionRegistry } from './sessions/registry.ts';
import type { SkillLibrary } from './skills/library.ts';
import type { SpeechDescription } from './speech/speech.ts';
import type { Admission } from './users/admission.ts';
import type { UserDirectory } from './users/directory.ts';

export interface HealthParts {
  options: VoiceOptions;
  users: UserDirectory;
  admission: Admission;
  sessions: SessionRegistry;
  delegates: DelegateRepository;
  library: SkillLibrary;
  model: () => ModelDescription;
  services: () => readonly ServiceLink[];
  speech: () => SpeechDescription;
}

/** What the service says about itself to everyone. */
export function healthBody({
  options,
  users,
  admission,
  sessions,
  delegates,
  library,
  model,
  services,
  speech,
}: HealthParts) {
  return {
    status: 'ok',
    stt_backend: options.sttBackend,
    tts_backend: options.ttsBackend,
    auth_source: users.source,
    user_count: users.ids.length,
    active_sessions: sessions.users,
    delegates: delegates.entries.map(({ name, type }) => ({ name, type })),
    skills: library.slugs,
    audio: {
      half_duplex: options.halfDuplex,
      echo_guard_ms: options.echoGuardMs,
      noise_filter: options.noiseFilter,
      smart_turn: options.smartTurn,
    },
    speech: speech(),
    model: model(),
    missing: missingParts(model(), { users, admission }),
    services: services(),
  };
}

type Who = Pick<HealthParts, 'users' | 'admission'>;

/** What keeps the service from its full function, and what to do about it. */
export function missingParts(model: ModelDescription, who: Who): Missing[] {
  const hint = rosterHint(who);
  const missing = missingModel(model);
  return hint === undefined ? missing : [...missing, { what: 'Users', variable: 'CONFIG_DIR', hint }];
}

function rosterHint({ users, admission }: Who): string | undefined {
  const { closedBecause, outdatedBecause } = users;
  if (closedBecause !== undefined)
    return `Nobody can call until the roster of users is mended. ${closedBecause}`;
  if (outdatedBecause !== undefined) return `The last good roster of users is in use. ${outdatedBecause}`;
  return admission.operatorOnlyBecause();
}
