import { join } from 'node:path';
import { createA2aServer, type ExecutionEvent, type ExecutionRequest, type Executor } from '@trunkline/a2a';
import type { Bus } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { inputModes } from '@trunkline/documents';
import { type AccountAccess, anonymous, ownerKey } from '@trunkline/identity';
import type { Responses } from '@trunkline/openai-api';
import type { ServiceAddress } from '@trunkline/service';
import { BoundedMap } from '@trunkline/std';
import type { Question } from '../api-types.ts';
import type { MessageFiles } from '../content/message-files.ts';
import type { Admission, AgentLimiter } from '../dispatch/agent-limiter.ts';
import type { SkillResult } from '../dispatch/executor.ts';
import { cancelSkill } from '../dispatch/live-runs.ts';
import { text } from '../dispatch/request.ts';
import type { Exchange } from '../exchange.ts';
import type { HumanInput } from '../human/human-input.ts';
import type { SwitchboardOptions } from '../options.ts';
import manifest from '../package.json' with { type: 'json' };
import type { RoutingDeps } from '../router/decide.ts';
import { type Answer, admit, askSkill, listen, targetOf } from './ask-skill.ts';
import { type Answers, createParkedAnswers, type Parked, type ParkedAnswers } from './parked-answers.ts';

export interface GatewayParts {
  bus: Bus;
  humanInput: HumanInput;
  routing: RoutingDeps;
  limiter: AgentLimiter;
  files: MessageFiles;
}

/** Correlations of requests that tasks wait for, where it is not the id of the task. */
type Correlations = Map<string, string>;

const mostCorrelations = 10_000;

/** Each A2A task is a skill request; untargeted ones go to the helm. */
function createGatewayExecutor(
  parts: GatewayParts,
  parked: ParkedAnswers,
  correlations: Correlations,
): Executor {
  return {
    async *execute(request, signal) {
      const ending = new AbortController();
      const end = () => ending.abort();
      signal.addEventListener('abort', end, { once: true });
      const found = await answersFor(request, ending, parts, parked, correlations);
      if ('error' in found) {
        yield { type: 'rejected', message: found.error };
        return;
      }
      // Not `for await`: it would end the generator that continues after a question.
      for (let next = await found.next(); !next.done; next = await found.next()) {
        if (next.value.type === 'question')
          return yield* park(next.value, () => parked.keep(request.task.id, found, ending));
        if (next.value.type === 'frame') yield* frameEvents(next.value.frame);
        else yield* resultEvents(yield* artifactsOf(next.value.result, request, parts));
      }
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
  { principal }: ExecutionRequest,
  { files: store }: GatewayParts,
): AsyncGenerator<ExecutionEvent, SkillResult> {
  const { files, lost } = await store.open(result, principal);
  for (const { bytes, name, mediaType } of files) {
    const content = Buffer.from(bytes).toString('base64');
    yield { type: 'artifact', name, parts: [{ type: 'file', name, mediaType, bytes: content }] };
  }
  const gone = lost.map((name) => `(${name} is no longer stored.)`);
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
  { bus, humanInput, routing, files: store }: GatewayParts,
  parked: ParkedAnswers,
  correlations: Correlations,
): Promise<Answers | { error: string }> {
  const { task, message, metadata, principal, resume, tenant } = request;
  const said = textOf(request);
  const { signal } = ending;
  const kept = resume === undefined ? undefined : parked.take(task.id);
  if (kept?.wentOn === true) return goingOn(kept, signal);
  const waiting = humanInput.pending().find(({ correlationId }) => correlationId === task.id);
  const isAnswer = resume !== undefined && waiting !== undefined;
  const refusal = isAnswer ? humanInput.refusalOf(waiting, said, principal) : undefined;
  if (isAnswer && refusal !== undefined) {
    const words = refusal === 'unclear' ? 'Please answer yes or no.' : humanInput.whereToApprove();
    const going = kept && goingOn(kept, signal);
    return askAgain(waiting, words, going ?? listenAgain(bus)(task.id)(signal));
  }
  kept?.ending.abort();
  if (isAnswer) {
    const hasFiles = message.parts.some(({ type }) => type === 'file');
    // It would make the yes of an approval unclear.
    const answer = hasFiles && !waiting.approval ? lines([said, noFiles]) : said;
    const begin = () => humanInput.answer(waiting.requestId, answer, principal);
    return listen(bus, { correlationId: task.id, signal, begin });
  }
  const target = targetOf(tenant ?? text(metadata.agent), text(metadata.skillHint), routing);
  if ('error' in target) return target;
  const { files, problems } = await store.fromParts(message.parts, principal, { signal });
  const content = lines([said, ...problems]);
  // The answer to a remote agent's question is a request of its own.
  const correlationId = resume === undefined ? task.id : `${task.id}-${crypto.randomUUID()}`;
  if (correlationId !== task.id) correlations.set(task.id, correlationId);
  // Whoever names the context of somebody else begins a conversation of their own.
  const conversationId = `a2a:${ownerKey(principal)}:${task.contextId}`;
  const source = { interface: 'a2a' };
  return askSkill(bus, target, { content, files, correlationId, conversationId, source, principal, signal });
}

const noFiles = '[Files that come with an answer are not read: send them with a message of their own.]';

/** The answer did not count: says why and keeps waiting. */
async function* askAgain({ requestId, question }: Question, words: string, going: Answers): Answers {
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
  responses: Responses;
  files: MessageFiles;
  logger: Logger;
  /** Known once it listens. */
  address: Pick<ServiceAddress, 'publicUrl' | 'grpcAddress'>;
  /** Somebody with their rights of today. */
  current: AccountAccess['current'];
}

/** The agent card shows the skills of the helm. */
export function openA2aServer(settings: A2aServerSettings) {
  const { options, home, bus, exchange, responses, files, logger, address, current } = settings;
  const { routing, humanInput, limiter } = exchange;
  const { apiKey } = options;
  const parts = { bus, humanInput, routing, limiter, files };
  const parked = createParkedAnswers(logger);
  const correlations = new BoundedMap<string, string>(mostCorrelations);
  const server = createA2aServer({
    directory: join(home, 'a2a'),
    executor: responses.runningTasksOf(createGatewayExecutor(parts, parked, correlations)),
    signingHome: options.trunklineHome,
    quotaBytes: options.quotaMb * 2 ** 20,
    current,
    keptBesides: (owner) => responses.bytesOf(owner) + files.bytesOf(owner),
    admit: (request) =>
      responses.isResponse(request.message)
        ? { release: () => undefined }
        : admitTask(request, parts, parked),
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
  parked.attach(server.engine, listenAgain(bus));
  server.engine.observe({
    taskCanceled({ id }, by = anonymous) {
      cancelSkill(bus, correlations.get(id) ?? id, by).catch((error: unknown) =>
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
