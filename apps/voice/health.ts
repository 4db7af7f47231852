import type { ModelDescription } from '@trunkline/llm';
import { type Missing, missingModel, type ServiceLink } from '@trunkline/service';
import type { DelegateBook } from './delegates/book.ts';
import type { VoiceOptions } from './options.ts';
import type { SessionRegistry } from './sessions/registry.ts';
import type { SkillLibrary } from './skills/library.ts';
import type { SpeechDescription } from './speech/speech.ts';
import type { UserDirectory } from './users/directory.ts';

export interface HealthParts {
  options: VoiceOptions;
  users: UserDirectory;
  sessions: SessionRegistry;
  delegates: DelegateBook;
  library: SkillLibrary;
  model: () => ModelDescription;
  services: () => readonly ServiceLink[];
  speech: () => SpeechDescription;
}

/** What the service says about itself to everyone. */
export function healthBody({
  options,
  users,
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
    missing: missingParts(model(), users),
    services: services(),
  };
}

/** What keeps the service from its full function, and what to do about it. */
export function missingParts(model: ModelDescription, users: UserDirectory): Missing[] {
  const hint = rosterHint(users);
  const missing = missingModel(model);
  return hint === undefined ? missing : [...missing, { what: 'Users', variable: 'CONFIG_DIR', hint }];
}

function rosterHint({ closedBecause, outdatedBecause }: UserDirectory): string | undefined {
  if (closedBecause !== undefined)
    return `Nobody can call until the roster of users is mended. ${closedBecause}`;
  return outdatedBecause && `The last good roster of users is in use. ${outdatedBecause}`;
}
