import type { Principal } from '@trunkline/identity';
import type { Tool } from '@trunkline/llm';
import type { SkillSelection } from '../skills/selection.ts';
import type { Skill } from '../skills/skill.ts';
import { isVerbosity, type Verbosity, verbosityInstructions } from '../skills/verbosity.ts';
import type { Preferences } from '../users/preferences.ts';
import type { User } from '../users/user.ts';
import type { Model } from './model-settings.ts';

/** As whom, how and with what a user is answered; taken when a session connects and kept for its length. */
export interface Persona {
  user: User;
  /** On whose behalf its tools act, and whom it names to the services that it asks. */
  principal: Principal;
  skill: Skill;
  verbosity: Verbosity;
  instructions: string;
  tools: readonly Tool[];
  model: Model;
}

export interface PersonaDeps {
  selection: SkillSelection;
  preferences: Preferences;
  models: { of(skill: Skill): Model };
  toolbox: { toolsFor(skill: Skill, user: User): readonly Tool[] };
  /** Of users and skills that say nothing else. */
  verbosity: Verbosity;
}

/** The persona that answers a user now. What is reloaded or chosen later does not change it. */
export function snapshotPersona(user: User, principal: Principal, deps: PersonaDeps): Persona {
  const skill = deps.selection.snapshot(user);
  const chosen = deps.preferences.verbosityOf(user.id);
  const verbosity = isVerbosity(chosen) ? chosen : (skill.verbosity ?? deps.verbosity);
  return {
    user,
    principal,
    skill,
    verbosity,
    instructions: `${skill.systemPrompt}\n\n${verbosityInstructions(verbosity)}`,
    tools: deps.toolbox.toolsFor(skill, user),
    model: deps.models.of(skill),
  };
}
