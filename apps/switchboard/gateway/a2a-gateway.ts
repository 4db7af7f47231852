import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  A2aError,
  createA2aServer,
  type ExecutionEvent,
  type ExecutionRequest,
  type Executor,
} from '@trunkline/a2a';
import type { Bus } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { inputModes } from '@trunkline/documents';
import { type AccountAccess, anonymous, ownerKey, type Principal, quotaKey } from '@trunkline/identity';
import type { Responses } from '@trunkline/openai-api';
import type { ServiceAddress } from '@trunkline/service';
import type { Quota } from '@trunkline/storage';
import type { Question } from '../api-types.ts';
import type { Peers } from '../cluster/peers.ts';
import type { TaskReplica } from '../cluster/task-replica.ts';
import type { MessageFiles } from '../content/message-files.ts';
import { answerWith } from '../content/references.ts';
import { onBehalfOf } from '../core/messages.ts';
import type { Admission, AgentLimiter } from '../dispatch/agent-limiter.ts';
import type { SkillResult } from '../dispatch/executor.ts';
import { cancelSkill } from '../dispatch/live-runs.ts';
import { text } from '../dispatch/request.ts';
import type { Exchange } from '../exchange.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import type { HumanInput } from '../human/human-input.ts';
import type { SwitchboardOptions } from '../options.ts';
import manifest from '../package.json' with { type: 'json' };
import type { RoutingDeps } from '../router/decide.ts';
import { type Answer, admit, askSkill, listen, targetOf } from './ask-skill.ts';
import { correlationsOf, resumedAnswers } from './lost-turns.ts';
import { type Answers, createParkedAnswers, type Parked, type ParkedAnswers } from './parked-answers.ts';

export interface GatewayParts {
  bus: Bus;
  humanInput: HumanInput;
  routing: RoutingDeps;
  limiter: AgentLimiter;
  files: MessageFiles;
  flows: FlowStore;
  peers: Peers;
  replica: TaskReplica;
  options: Pick<SwitchboardOptions, 'skillTotalTimeoutMs'>;
}

/** Each A2A task is a skill request; untargeted ones go to the helm. */
function createGatewayExecutor(parts: GatewayParts, parked: ParkedAnswers): Executor {
  const ending = (signal: AbortSignal) => {
    const controller = new AbortController();
    signal.addEventListener('abort', () => controller.abort(), { once: true });
    return controller;
  };
  async function* events(
    found: Answers,
    asked: { task: { id: string }; principal: Principal },
    end: AbortController,
  ): AsyncGenerator<ExecutionEvent> {
    // Not `for await`: it would end the generator that continues after a question.
    for (let next = await found.next(); !next.done; next = await found.next()) {
      if (next.value.type === 'question')
        return yield* park(next.value, () => parked.keep(asked.task.id, found, end));
      if (next.value.type === 'frame') yield* frameEvents(next.value.frame);
      else yield* resultEvents(yield* artifactsOf(next.value.result, asked, parts));
    }
  }
  return {
    async *execute(request, signal) {
      const end = ending(signal);
      const found = await answersFor(request, end, parts, parked);
      if ('error' in found) yield { type: 'rejected', message: found.error };
      else yield* events(found, request, end);
    },
    // With the embedded bus nobody has gone on with the work.
    recover(task, signal) {
      if (parts.bus.status().engine === 'embedded') return undefined;
      const end = ending(signal);
      const principal = onBehalfOf(task.owner ?? 'anonymous', 'switchboard');
      return { events: events(resumedAnswers(task, end.signal, parts), { task, principal }, end) };
    },
  };
}

/** The text of a message, and its data. */
function textOf({ text: said, message }: ExecutionRequest): string {
  const data = message.parts.flatMap((part) =>
    part.type === 'data'
      ? [`Data${part.name === undefined ? '' : ` ${part.name}`}:\n${JSON.stringify(part.data)}`]
      : [],
  );
  return lines([said, ...data]);
}

function lines(texts: readonly string[]): string {
  return texts.filter((words) => words !== '').join('\n');
}

/** The files of an answer, each as an artifact; returns the answer, whose text names those that are gone. */
async function* artifactsOf(
  result: SkillResult,
  { principal }: Pick<ExecutionRequest, 'principal'>,
  { files: store }: GatewayParts,
): AsyncGenerator<ExecutionEvent, SkillResult> {
  const { files, lost } = await store.open(result, principal);
  for (const { bytes, name, mediaType } of files) {
    const content = Buffer.from(bytes).toString('base64');
    yield { type: 'artifact', name, parts: [{ type: 'file', name, mediaType, bytes: content }] };
  }
  const gone = lost.map((words) => `(${words})`);
  return { ...result, content: lines([result.content, ...gone]) };
}

/** Only new requests need admission; what cannot be done ends the task. */
function admitTask(
  { task, metadata, resume, tenant }: ExecutionRequest,
  { humanInput, routing, limiter }: GatewayParts,
  parked: ParkedAnswers,
): Admission {
  const asked = humanInput.pending().some(({ correlationId }) => correlationId === task.id);
  const goesOn = resume !== undefined && (asked || parked.wentOn(task.id));
  const target = targetOf(tenant ?? text(metadata.agent), text(metadata.skillHint), routing);
  if (goesOn || 'error' in target) return { release: () => undefined };
  return admit(target, routing, limiter);
}

/** Whoever has sent too much may still answer a question, in few words. */
const uncountedBytes = 4096;

/**
 * What a task asks stays in the journal for days, as anything that is published does; on NATS the whole task does, with its
 * files and metadata.
 */
function countSent(request: ExecutionRequest, sent: Quota, release: () => void): void {
  const bytes = Buffer.byteLength(JSON.stringify([request.message, request.metadata]));
  if (request.resume !== undefined && bytes <= uncountedBytes) return;
  const refusal = sent.refusal(quotaKey(request.principal), bytes);
  if (refusal === undefined) return;
  release();
  throw new A2aError('QUOTA_EXCEEDED', refusal);
}

/** The engine releases the task when it is parked; only then may more arrive for it. */
function* park(
  { question }: Extract<Answer, { type: 'question' }>,
  keep: () => void,
): Generator<ExecutionEvent> {
  try {
    yield { type: 'input-required', question: question.question };
  } finally {
    keep();
  }
}

/** Listens for a task that was parked before the start. */
function listenAgain(bus: Bus): (taskId: string) => (signal: AbortSignal) => Answers {
  const begin = async () => undefined;
  return (correlationId) => (signal) => listen(bus, { correlationId, signal, begin });
}

async function answersFor(
  request: ExecutionRequest,
  ending: AbortController,
  { bus, humanInput, routing, peers, files: store }: GatewayParts,
  parked: ParkedAnswers,
): Promise<Answers | { error: string }> {
  const { task, message, metadata, principal, resume, tenant } = request;
  const said = textOf(request);
  const { signal } = ending;
  const kept = resume === undefined ? undefined : parked.take(task.id);
  if (kept?.wentOn === true) return goingOn(kept, signal);
  const isAbout = ({ correlationId }: Question) => correlationId === task.id;
  const waiting =
    humanInput.pending().find(isAbout) ??
    (resume &&
      ((await askedElsewhere(peers, principal, isAbout, signal)) ?? askedByGone(humanInput, isAbout)));
  const listening = () => (kept && goingOn(kept, signal)) ?? listenAgain(bus)(task.id)(signal);
  if (waiting === 'unknown') {
    const question = resume?.text.replace(`\n${notTaken}`, '') ?? '';
    return askAgain({ requestId: task.id, question }, notTaken, listening());
  }
  const isAnswer = resume !== undefined && waiting !== undefined;
  const refusal = isAnswer ? humanInput.refusalOf(waiting, said, principal) : undefined;
  if (isAnswer && refusal !== undefined) {
    const words = refusal === 'unclear' ? 'Please answer yes or no.' : humanInput.whereToApprove();
    return askAgain(waiting, words, listening());
  }
  kept?.ending.abort();
  if (isAnswer) {
    // Files would make the yes of an approval unclear.
    const parts = waiting.approval ? [] : message.parts;
    // Files may take a minute, and the question may be settled meanwhile: they are fetched while it listens.
    const begin = async () => {
      const { files, problems } = await store.fromParts(parts, principal, { signal });
      const answer = lines([answerWith(said, files, waiting.owner === ownerKey(principal)), ...problems]);
      return await humanInput.answer(waiting.requestId, answer, principal);
    };
    return listen(bus, { correlationId: task.id, signal, begin });
  }
  const target = targetOf(tenant ?? text(metadata.agent), text(metadata.skillHint), routing);
  if ('error' in target) return target;
  const { files, problems } = await store.fromParts(message.parts, principal, { signal });
  const content = lines([said, ...problems]);
  // The answer to a remote agent's question is a request of its own.
  const [first = task.id, correlationId = first] = correlationsOf(task.id, request.history.length);
  // Whoever names the context of somebody else begins a conversation of their own.
  const conversationId = `a2a:${ownerKey(principal)}:${task.contextId}`;
  const source = { interface: 'a2a' };
  return askSkill(bus, target, { content, files, correlationId, conversationId, source, principal, signal });
}

/** The question that another switchboard has asked; one that is busy is asked again. `unknown` while one stays silent. */
async function askedElsewhere(
  peers: Peers,
  principal: Principal,
  isAbout: (question: Question) => boolean,
  signal: AbortSignal,
): Promise<Question | 'unknown' | undefined> {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const { answers, isComplete } = await peers.askAll<Question[]>('questions', {}, principal);
    const found = answers.flat().find(isAbout);
    if (found !== undefined || isComplete) return found;
    await delay(askAgainMs, undefined, { signal });
  }
  return 'unknown';
}

/** The question of a switchboard that answers no more; `unknown` until it is gone for sure. */
function askedByGone(
  humanInput: HumanInput,
  isAbout: (question: Question) => boolean,
): Question | 'unknown' | undefined {
  const copy = humanInput.pendingElsewhere().find(({ question }) => isAbout(question));
  return copy?.isGone === false ? 'unknown' : copy?.question;
}

const mostAttempts = 10;
const askAgainMs = 200;
const notTaken =
  'A switchboard that may have asked this does not answer now, so your answer was not taken. Please give it again in a moment.';

/** The answer did not count: says why and keeps waiting. */
async function* askAgain(
  { requestId, question }: Pick<Question, 'requestId' | 'question'>,
  words: string,
  going: Answers,
): Answers {
  yield { type: 'question', question: { requestId, question: `${question}\n${words}` } };
  yield* going;
}

async function* goingOn({ answers, next, ending }: Parked, signal: AbortSignal): Answers {
  signal.addEventListener('abort', () => ending.abort(), { once: true });
  const { done, value } = await next;
  if (done === true) return;
  yield value;
  yield* answers;
}

function* frameEvents(frame: Extract<Answer, { type: 'frame' }>['frame']): Generator<ExecutionEvent> {
  if (frame.type === 'progress' || frame.type === 'note') yield { type: 'progress', text: frame.text };
  if (frame.type === 'reasoning') yield { type: 'reasoning-delta', text: frame.text };
  if (frame.type === 'tool-start') {
    yield { type: 'tool-start', toolCallId: frame.toolCallId, name: frame.name, args: frame.input };
  }
  if (frame.type === 'tool-end') {
    const { toolCallId, name, result, failed } = frame;
    yield { type: 'tool-end', toolCallId, name, result, failed };
  }
}

function* resultEvents(result: Extract<Answer, { type: 'result' }>['result']): Generator<ExecutionEvent> {
  if (result.usage) yield { type: 'usage', usage: result.usage };
  if (result.taskState === 'input-required') yield { type: 'input-required', question: result.content };
  else if (result.taskState === 'rejected') yield { type: 'rejected', message: result.error ?? '' };
  else if (result.error !== undefined) yield { type: 'failed', message: result.error };
  else yield { type: 'completed', text: result.content };
}

export interface A2aServerSettings {
  options: SwitchboardOptions;
  home: string;
  bus: Bus;
  exchange: Exchange;
  flows: FlowStore;
  responses: Responses;
  peers: Peers;
  /** Shares the tasks with other switchboards. */
  replica: TaskReplica;
  files: MessageFiles;
  /** What each caller may send in a day. */
  sent: Quota;
  logger: Logger;
  /** Known once it listens. */
  address: Pick<ServiceAddress, 'publicUrl' | 'grpcAddress'>;
  /** Somebody with their rights of today. */
  current: AccountAccess['current'];
}

/** The agent card shows the skills of the helm. */
export function openA2aServer(settings: A2aServerSettings) {
  const { options, home, bus, exchange, responses, files, logger, address, current, replica, sent } =
    settings;
  const { routing, humanInput, limiter } = exchange;
  const { apiKey } = options;
  const { flows, peers } = settings;
  const parts = { bus, humanInput, routing, limiter, files, flows, peers, replica, options };
  const parked = createParkedAnswers(logger);
  const server = createA2aServer({
    directory: join(home, 'a2a'),
    executor: responses.runningTasksOf(createGatewayExecutor(parts, parked)),
    signingHome: options.trunklineHome,
    quotaBytes: options.quotaMb * 2 ** 20,
    current,
    // Nobody reads of them where the bus is not shared.
    ...(bus.status().engine !== 'embedded' && { share: replica.share, shareWebhook: replica.shareWebhook }),
    keptBesides: (owner) => responses.bytesOf(owner) + files.bytesOf(owner),
    admit(request) {
      // Counted as a request of /v1.
      if (responses.isResponse(request.message)) return { release: () => undefined };
      const admission = admitTask(request, parts, parked);
      if ('release' in admission) countSent(request, sent, admission.release);
      return admission;
    },
    card: () => ({
      name: 'switchboard',
      description: manifest.description,
      version: manifest.version,
      publicUrl: address.publicUrl,
      grpcAddress: address.grpcAddress,
      inputModes,
      skills: helmSkills(routing),
    }),
    tenants: () => agentNames(routing),
    extendedCard: () => ({ tenants: agentNames(routing), skills: allSkills(routing) }),
    ...(apiKey !== undefined && { credentials: { bearer: apiKey, apiKey, require: 'any' } }),
    push: { allowedHosts: options.pushAllowedHosts, allowedCidrs: options.pushAllowedCidrs },
    // The switchboard warns about its keys itself.
    warnWhenOpen: false,
    logger,
  });
  files.limitBy((quota, bytes) => server.engine.refusal(quota, bytes));
  replica.attach(server);
  parked.attach(server.engine, listenAgain(bus));
  server.engine.observe({
    taskCanceled({ id, history }, by = anonymous) {
      for (const correlationId of correlationsOf(id, history.length - 1))
        cancelSkill(bus, correlationId, by).catch((error: unknown) =>
          logger.warn({ err: error, task: id }, 'failed to cancel the work of a task'),
        );
    },
  });
  return server;
}

/** Each agent that has a skill can be chosen by name, as `tenant` or as `metadata.agent`. */
function agentNames({ registry }: Exchange['routing']): string[] {
  return [...new Set(registry.skills().map(({ agent }) => agent))];
}

function allSkills({ registry }: Exchange['routing']) {
  return registry.skills().map(({ agent, skill: { name, description } }) => ({
    id: `${agent}/${name}`,
    name,
    description: description || name,
    tags: ['skill', agent],
  }));
}

function helmSkills({ registry, workspace }: Exchange['routing']) {
  const skills = registry.agent(workspace.fleet().roles.helm)?.skills ?? [];
  return skills.map(({ name, description }) => ({
    id: name,
    name,
    description: description || name,
    tags: ['skill'],
  }));
}
