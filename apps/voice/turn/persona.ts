import { type Environment, type Logger, readVariable } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import { costOf, createModelGateway, type ModelGateway, priceOf, profileOf, type Tool } from '@trunkline/llm';
import { type RunTurnOptions, runTurn, type TurnEvent, type TurnPolicy } from '@trunkline/loop';
import { isTimezone } from '@trunkline/schedule';
import type { SkillSelection } from '../skills/selection.ts';
import { isVerbosity, type Skill, type Verbosity, verbosityInstructions } from '../skills/skill.ts';
import { languagePattern, type Preferences, type User } from '../users/user.ts';

/** For tools without their own limit. */
export const toolTimeoutMs = 90_000;

const steps = 8;
/** Silence of the model that ends a turn, unless its profile waits longer for the first token. */
const turnTimeoutMs = 300_000;

/** Skill, tools and model that answer a user: a snapshot for one session. */
export interface Persona {
  user: User;
  /** On whose behalf its tools act. */
  principal: Principal;
  skill: Skill;
  verbosity: Verbosity;
  instructions: string;
  tools: readonly Tool[];
  model: Model;
  /** Decides about its tool calls. Nobody who may allow one can be asked in a call. */
  policy?: TurnPolicy | undefined;
  /** IANA zone of the caller, where it is known. */
  timezone?: string | undefined;
}

export interface PersonaDeps {
  selection: SkillSelection;
  preferences: Preferences;
  modelFor(skill: Skill): Model;
  toolsFor(skill: Skill, user: User, sender?: Principal): readonly Tool[];
  /** The default. */
  verbosity: Verbosity;
  policy?: TurnPolicy | undefined;
}

export interface PersonaRequest {
  /** It answers messages, not a call: others than the user may write them. */
  isWritten?: boolean;
  /** As the caller sent it: used only where it names a zone, as it stands in the instructions of the model. */
  timezone?: unknown;
  /** What the caller chose to speak, as it was sent: used in place of the user's only where it is a code such as `es`. */
  language?: unknown;
}

/** Later reloads and choices do not change a persona. */
export function snapshotPersona(
  known: User,
  principal: Principal,
  deps: PersonaDeps,
  { isWritten = false, timezone: given, language }: PersonaRequest = {},
): Persona {
  const timezone = typeof given === 'string' && isTimezone(given) ? given : undefined;
  const user =
    typeof language === 'string' && languagePattern.test(language) ? { ...known, language } : known;
  const skill = deps.selection.snapshot(user);
  const chosen = deps.preferences.verbosityOf(user.id);
  const verbosity = isVerbosity(chosen) ? chosen : (skill.filler_verbosity ?? deps.verbosity);
  return {
    user,
    principal,
    skill,
    verbosity,
    instructions: [
      skill.systemPrompt,
      verbosityInstructions(verbosity),
      ...timezoneInstructions(timezone),
      ...languageInstructions(user, skill),
    ].join('\n\n'),
    tools: deps.toolsFor(skill, user, isWritten ? principal : undefined),
    model: deps.modelFor(skill),
    policy: deps.policy,
    timezone,
  };
}

function timezoneInstructions(timezone: string | undefined): string[] {
  if (timezone === undefined) return [];
  return [
    `The person's time zone is ${timezone}: the times they name are in it, and so are those you tell them.`,
  ];
}

/** A skill that has a language says by itself what it speaks. */
function languageInstructions({ language }: User, { lang }: Skill): string[] {
  if (language === undefined || lang !== undefined) return [];
  const name = new Intl.DisplayNames('en', { type: 'language' }).of(language) ?? language;
  return [`The person speaks ${name}: answer in it, unless they use or ask for another language.`];
}

export type ModelMessages = RunTurnOptions['messages'];

export type ModelMessage = ModelMessages[number];

interface PersonaTurn {
  messages: ModelMessages;
  sessionId: string;
  signal: AbortSignal;
  /** The persona's tools, wrapped. */
  tools?: readonly Tool[];
}

/** One turn of a persona, written or spoken: the same model, instructions, tools and limits. */
export function runPersona(
  { model, instructions, tools, principal, policy, timezone }: Persona,
  turn: PersonaTurn,
): AsyncGenerator<TurnEvent, void> {
  const cost: RunTurnOptions['cost'] = (name, tokens) =>
    costOf(
      priceOf(name, {}, () => profileOf(model).price),
      tokens,
    );
  const silentMs = Math.max(turnTimeoutMs, profileOf(model).firstTokenMs);
  const limits = { steps, toolTimeoutMs, turnTimeoutMs: silentMs };
  return runTurn({ model, instructions, tools, limits, principal, policy, timezone, cost, ...turn });
}

interface ModelsOptions {
  gateway: ModelGateway;
  /** For skills that name only a URL. */
  model: string | undefined;
  maxTokens: number;
  temperature: number;
  env: Environment;
  logger: Logger;
}

export function createModels(options: ModelsOptions): (skill: Skill) => Model {
  const { gateway: own, model, env, logger } = options;
  /** Endpoints of skills, by URL and key. */
  const gateways = new Map<string, ModelGateway>();
  const gatewayAt = (url: string, keyVariable: string | undefined) => {
    // The service's own key never goes to a URL that a skill names.
    const apiKey = keyVariable === undefined ? undefined : readVariable(keyVariable, env);
    const id = JSON.stringify([url, apiKey]);
    const gateway = gateways.get(id) ?? createModelGateway({ url, apiKey, model, logger });
    gateways.set(id, gateway);
    return gateway;
  };
  return ({ llm, temperature = options.temperature, max_tokens: maxOutputTokens = options.maxTokens }) => {
    const gateway = llm.url === undefined ? own : gatewayAt(llm.url, llm.api_key_env);
    return withSettings(gateway.languageModel(llm.model), { temperature, maxOutputTokens });
  };
}

export type Model = ReturnType<ModelGateway['languageModel']>;

interface ModelSettings {
  temperature: number;
  maxOutputTokens: number;
}

function withSettings(model: Model, settings: ModelSettings): Model {
  return {
    ...model,
    doGenerate: (options) => model.doGenerate({ ...options, ...settings }),
    doStream: (options) => model.doStream({ ...options, ...settings }),
  };
}
