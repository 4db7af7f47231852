import { type AgentOptions, diagnoseOwnModel } from '@trunkline/agent';
import { ConfigError, createLogger, type Environment } from '@trunkline/config';
import { describeModelFile, findModelFile } from '@trunkline/gguf';
import { StartError } from '@trunkline/http';
import {
  createModelGateway,
  gatewaySettings,
  isFree,
  type ModelGateway,
  type ModelGatewayOptions,
  ModelsFile,
  modelRoles,
  type ProfileSection,
} from '@trunkline/llm';
import type { Diagnosis } from '@trunkline/service';
import { testGateway, testModelFile } from '@trunkline/setup';
import { errorMessage, type ModelTest } from '@trunkline/std';

const LIMIT_MS = 10_000;

/** A model on this machine may have to be loaded first. */
const PROBE_LIMIT_MS = 120_000;

interface Trial {
  /** The model is tried even where that costs money. */
  isAsked: boolean;
  /** What the trial finds is written into models.yaml. */
  saves: boolean;
}

/**
 * Looks into the model file, or asks the model endpoint whether it answers, takes the key and has the model; then each model
 * that a role or the agent alone has. One after the other: what is found is written into the same file.
 */
export async function checkModels(
  options: AgentOptions,
  env: Environment,
  trial: Trial,
): Promise<Diagnosis[]> {
  try {
    const models = new ModelsFile({ home: options.trunklineHome, env });
    const file = findModelFile(options, env);
    const settings = { ...gatewaySettings(options, { env, file: models }), ...withoutRoles };
    const chat =
      file === undefined
        ? await checkGateway(createModelGateway(settings), models, trial)
        : await checkModelFile(file, options, trial.isAsked);
    const isShared = file === undefined && chat.every(({ state }) => state !== 'failed');
    const roles = await checkRoles(models, options, { settings: isShared ? settings : undefined, trial });
    const own = await diagnoseOwnModel(options, env, {
      signal: AbortSignal.timeout(LIMIT_MS),
      probe: (gateway, subject) => tryModel(gateway, models, trial, subject),
    });
    return [...chat, ...roles, ...own];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const advice = 'Mend models.yaml in TRUNKLINE_HOME.';
    return [{ subject: 'model', state: 'failed', words: error.message, advice }];
  }
}

/** Each model is asked for itself, so that a finding names the one that it is about. */
const withoutRoles = {
  roles: undefined,
  visionModel: undefined,
  fastModel: undefined,
  judgeModel: undefined,
};

async function checkGateway(
  gateway: ModelGateway,
  models: ModelsFile,
  trial: Trial,
  role?: string,
): Promise<Diagnosis[]> {
  const subject = role ?? 'model';
  const { ok, message } = await gateway.check(AbortSignal.timeout(LIMIT_MS));
  if (!ok) return [{ subject, state: 'failed', words: message }];
  if (gateway.describe().demo) return [{ subject, state: 'warning', words: message }];
  return [{ subject, state: 'ok', words: message }, ...(await tryModel(gateway, models, trial, role))];
}

/** Asks each model that a role alone has, at its own endpoint or, where that answers, at the one of the chat. */
async function checkRoles(
  models: ModelsFile,
  options: AgentOptions,
  { settings, trial }: { settings: ModelGatewayOptions | undefined; trial: Trial },
): Promise<Diagnosis[]> {
  const variables: Partial<Record<(typeof modelRoles)[number], [name: string, model: string | undefined]>> = {
    helper: ['LLM_FAST_MODEL', options.llmFastModel],
    judge: ['LLM_JUDGE_MODEL', options.llmJudgeModel],
    vision: ['LLM_VISION_MODEL', options.llmVisionModel],
  };
  const asked = new Set([JSON.stringify([settings?.url, settings?.model])]);
  const findings: Diagnosis[] = [];
  for (const role of modelRoles) {
    if (role === 'chat') continue;
    const [variable, name] = variables[role] ?? [];
    const given = name ? { model: name } : models.role(role);
    const url = given?.url ?? settings?.url;
    const key = JSON.stringify([url, given?.model]);
    if (given === undefined || url === undefined || asked.has(key)) continue;
    asked.add(key);
    const place = { file: name ? variable : 'models.yaml', model: given.model };
    const gateway =
      given.url === undefined
        ? createModelGateway({ ...settings, ...place })
        : createModelGateway({ ...place, url, apiKey: given.api_key });
    const subject = `model for ${role}`;
    // A model that gives vectors writes no answer.
    if (role === 'embeddings') {
      const { ok, message } = await gateway.check(AbortSignal.timeout(LIMIT_MS));
      findings.push({ subject, state: ok ? 'ok' : 'failed', words: message });
    } else findings.push(...(await checkGateway(gateway, models, trial, subject)));
  }
  return findings;
}

/** Describes the file; loads and tries it only when asked, as that takes its whole size in memory. */
async function checkModelFile(file: string, options: AgentOptions, isAsked: boolean): Promise<Diagnosis[]> {
  const described: Diagnosis = { subject: 'model', ...(await describeModelFile(file)) };
  if (described.state === 'failed') return [described];
  if (!isAsked) {
    const words = 'not tried, as it has to be loaded first: npx trunkline doctor --probe does it.';
    return [described, { subject: 'model abilities', state: 'ok', words }];
  }
  const logger = createLogger({ name: 'doctor', level: 'ERROR', destination: process.stderr });
  try {
    const { findings } = await testModelFile(
      file,
      { home: options.trunklineHome, logger, settings: options },
      AbortSignal.timeout(PROBE_LIMIT_MS),
    );
    return [described, ...abilities(findings)];
  } catch (error) {
    // A stranger holds its port.
    if (!(error instanceof StartError)) throw error;
    return [described, { subject: 'model answer', state: 'failed', words: error.message }];
  }
}

/** Tries an answer, a tool call and an image: unasked only where that costs nothing. `role`: the subject of a model other than the shared one. */
async function tryModel(
  gateway: ModelGateway,
  models: ModelsFile,
  trial: Trial,
  role?: string,
): Promise<Diagnosis[]> {
  const model = gateway.languageModel();
  if (!trial.isAsked && !isFree(model)) {
    const words = 'not tried, as it may cost money: npx trunkline doctor --probe tries it with a few tokens.';
    return [{ subject: role ?? 'model abilities', state: 'ok', words }];
  }
  const { findings, facts } = await testGateway(gateway, AbortSignal.timeout(PROBE_LIMIT_MS));
  return [...abilities(findings, role), ...(await keep(models, model.modelId, facts, trial))];
}

/** Writes into models.yaml what was found and is not said there; without `--fix` it says what it would write. */
async function keep(
  models: ModelsFile,
  modelId: string,
  found: ProfileSection,
  { saves }: Trial,
): Promise<Diagnosis[]> {
  const facts = models.unsaved(modelId, found);
  const said = Object.entries(facts).map(([name, value]) => `${name}: ${value}`);
  if (said.length === 0) return [];
  const subject = 'model settings';
  if (!saves) {
    const words = `${said.join(', ')} was found of ${modelId} and is not set: npx trunkline doctor --fix writes it into models.yaml.`;
    return [{ subject, state: 'ok', words }];
  }
  try {
    await models.save(modelId, facts);
  } catch (error) {
    // The file may be mounted read-only, belong to another user, or have been changed meanwhile.
    const advice = `Let this user write ${models.file}, or add it there under models, ${modelId}: ${said.join(', ')}.`;
    return [{ subject, state: 'warning', words: errorMessage(error), advice }];
  }
  return [{ subject, state: 'ok', words: `set ${said.join(', ')} for ${modelId} in ${models.file}.` }];
}

function abilities(findings: ModelTest['findings'], role?: string): Diagnosis[] {
  return findings.map(({ subject, ok, words }) => ({
    subject: role ?? `model ${subject}`,
    state: ok ? 'ok' : 'warning',
    words,
  }));
}
