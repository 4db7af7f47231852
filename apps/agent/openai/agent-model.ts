import type { HttpError } from '@trunkline/http';
import { type Principal, quotaKey } from '@trunkline/identity';
import {
  defineTool,
  inputOfSchema,
  isRetryable,
  ModelError,
  type PausingTool,
  withCallSettings,
} from '@trunkline/llm';
import {
  compactionNote,
  type EndEvent,
  type ErrorEvent,
  originsIn,
  type PauseEvent,
  runTurn,
  type StoredFile,
  type TurnEvent,
} from '@trunkline/loop';
import {
  type AnswerEvent,
  CallNotes,
  type CompletionCall,
  type CompletionRequest,
  callSettings,
  type FinishReason,
  modelParameters,
  type OpenAiApi,
  openAiErrors,
  RefusedParameters,
  systemText,
  type ToolCall,
} from '@trunkline/openai-api';
import { actingFor } from '../approvals/approvals.ts';
import type { AgentContent } from '../content/agent-content.ts';
import type { Owners } from '../owners.ts';
import { type Graph, withoutQuestions } from '../turns/graph.ts';
import { Spending, subagentTools } from '../turns/subagents.ts';
import type { ObserveTurn } from '../turns/turn-runner.ts';
import { conversationMessages } from './conversation.ts';
import type { AnswerPart, OutsideAnswers } from './outside-answers.ts';
import { userMessage } from './user-message.ts';

interface AgentModelDeps {
  /** The name under which the agent is listed. */
  agentName: string;
  graph(): Promise<Graph>;
  observe: ObserveTurn;
  owners: Owners;
  content: AgentContent;
  outsideAnswers: OutsideAnswers;
}

/**
 * The agent as a model; it answers whatever model a request names. One name is of its model alone, for programs that
 * bring instructions and tools of their own, such as coding agents: with both, models write files at the wrong place.
 */
export function agentModel(deps: AgentModelDeps): OpenAiApi {
  const { agentName } = deps;
  return {
    ownedBy: 'trunkline',
    models: () => [agentName, aloneName(agentName)],
    findModel: () => (call) => answer(call, deps),
    defaultModel: () => agentName,
    refusal: (principal) => deps.owners.room(quotaKey(principal), 0),
    isSummarising: true,
    images: true,
    files: true,
    parameters: () => modelParameters,
  };
}

function aloneName(agentName: string): string {
  return `${agentName}/model`;
}

async function* answer(call: CompletionCall, deps: AgentModelDeps): AsyncGenerator<AnswerEvent, void> {
  const said = new SaidTexts();
  const files: StoredFile[] = [];
  /** By the model itself, among the files. */
  const drawn: StoredFile[] = [];
  const refused = new RefusedParameters(call.request);
  const notes = new CallNotes();
  try {
    for await (const event of turn(call, deps, refused)) {
      yield* refused.take();
      if (event.type === 'text-delta') said.say(event.text);
      if (event.type === 'reasoning-delta') said.think(event.text);
      if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
        yield* notes.begin();
        yield event;
      } else if (event.type === 'wait' || event.type === 'compaction') {
        const text = event.type === 'wait' ? event.message : compactionNote(event);
        said.think(text);
        // What takes minutes is told at once.
        if (event.type === 'wait' && ['loading', 'slow'].includes(event.code)) yield* notes.begin();
        yield* notes.add(text);
      } else if (event.type === 'citation') yield event;
      else if ('file' in event) {
        files.push(event.file);
        drawn.push(event.file);
      } else if (event.type === 'tool-end') files.push(...(event.files ?? []));
      else if (event.type === 'error') {
        const end = filtered(event);
        if (said.joined === '') yield { type: 'text-delta', text: event.message };
        yield end;
      } else if (event.type === 'end' || event.type === 'pause') {
        const links = files.map((file) => linkTo(file, deps.content)).join('');
        if (links !== '') yield { type: 'text-delta', text: links };
        said.say(links);
        for (const file of drawn) yield* picturesOf(file, deps.content);
        const ended = { ...event, text: event.text + links };
        const isOutside = hasReadOutside(event);
        if (isOutside) {
          const [calls, whole] = [pendingCalls(event), said.joined];
          said.end(ended.text);
          const given = [
            ...[whole, ended.text, said.texts.at(-1) ?? ''].map((text) => ({ text, calls })),
            ...said.texts.slice(0, -1).map((text) => ({ text, calls: [] })),
          ];
          deps.outsideAnswers.add(given, call.principal);
        }
        yield { ...endOf(ended), isOutside };
      }
    }
  } catch (error) {
    throw error instanceof ModelError ? failure(error) : error;
  }
}

/**
 * One turn for a caller who stores the conversation. Nobody can be asked in the middle of it, so the tools that wait
 * for a person are left out; calls of the caller's own tools end the turn.
 */
async function* turn(
  { request, principal: asker, signal, isSummary }: CompletionCall,
  { agentName, graph: compiled, observe, owners, content, outsideAnswers }: AgentModelDeps,
  refused: RefusedParameters,
): AsyncGenerator<TurnEvent, void> {
  const graph = await compiled();
  const principal: Principal = actingFor(asker);
  // Apart from the sessions of A2A and of others, whatever the caller chooses to call itself.
  const whose = principal.kind === 'person' ? `${principal.id}-` : '';
  const sessionId = `openai-${whose}${request.user || crypto.randomUUID()}`;
  const place = { principal: asker, sessionId };
  const isOutside = (part: AnswerPart) => outsideAnswers.has(part, asker);
  const said = await conversationMessages(request, isOutside, (entry) =>
    userMessage(entry, content, place, signal),
  );
  // A model answers to somebody: with instructions alone these are the message.
  const isSystemAlone = said.length === 0;
  const messages = isSystemAlone ? [{ role: 'user' as const, content: systemText(request) }] : said;
  const model = graph.model();
  const spending = new Spending(graph.limits(model));
  const onEvent = (event: TurnEvent) => observe(sessionId, event, principal);
  const callers = callerTools(request);
  const files = content.turnFiles(place);
  const isAlone = isSummary || request.model === aloneName(agentName);
  const own = isAlone
    ? []
    : [...withoutQuestions(graph.tools), ...subagentTools({ graph, spending, onEvent, files })];
  const compaction = graph.compaction();
  const forced = forcedChoice(request);
  const events = runTurn({
    model: withForcedTool(
      withCallSettings(model, callSettings(request), (names) => refused.note(names)),
      request,
    ),
    instructions: [isAlone ? '' : graph.instructions, isSystemAlone ? '' : systemText(request)]
      .filter(Boolean)
      .join('\n\n'),
    tools: [...callers, ...own.filter(({ name }) => !callers.some((tool) => tool.name === name))],
    requiredTool: forced?.type === 'tool' ? forced.toolName : undefined,
    limits: spending.limits,
    sessionId,
    principal,
    policy: graph.policy,
    scope: owners.memory({ principal, sessionId, user: request.user ?? undefined }),
    signal,
    files,
    cost: graph.cost,
    messages,
    ...(compaction && { compaction }),
  });
  for await (const event of events) {
    onEvent(event);
    yield event;
  }
}

/** A picture that the model made, if it is still stored. */
async function* picturesOf(
  { id, mediaType }: StoredFile,
  content: AgentContent,
): AsyncGenerator<AnswerEvent> {
  const bytes = mediaType.startsWith('image/') ? await content.bytes(id) : undefined;
  if (bytes !== undefined) yield { type: 'image', mediaType, base64: bytes.toString('base64') };
}

/** A file that the turn made, as Markdown: clients show pictures, and link to the rest. */
function linkTo({ id, name, mediaType }: StoredFile, content: AgentContent): string {
  const label = name.replace(/[[\]\\]/g, '');
  return `\n\n${mediaType.startsWith('image/') ? '!' : ''}[${label}](${content.link(id)})`;
}

/**
 * The endpoint's rate limit is passed on; every other failure of a turn is a bad gateway, which clients try again unless
 * a header that OpenAI's libraries read says that it would fail again.
 */
function failure({
  code,
  message,
  retryAfterMs,
}: Pick<ErrorEvent, 'code' | 'message'> & { retryAfterMs?: number | undefined }): HttpError {
  const kind = code === 'rate-limited' ? openAiErrors.rate_limit_error : openAiErrors.upstream_error;
  const headers = {
    ...(!isRetryable(code) && { 'x-should-retry': 'false' }),
    ...(retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }),
  };
  return kind({ message }, { headers });
}

/** A content filter ends an answer, as OpenAI's API has it; every other failure is thrown. */
function filtered(event: ErrorEvent): AnswerEvent {
  const { code, message, text, usage } = event;
  if (code !== 'content-filter') throw failure(event);
  return { type: 'end', finishReason: 'content_filter', text: text || message, usage, isOutside: true };
}

function endOf(event: EndEvent | PauseEvent): Extract<AnswerEvent, { type: 'end' }> {
  const { text, usage } = event;
  return { type: 'end', finishReason: finishReason(event), text, usage, toolCalls: pendingCalls(event) };
}

function finishReason(event: EndEvent | PauseEvent): FinishReason {
  if (event.type === 'pause') return 'tool_calls';
  return ['length', 'steps', 'budget'].includes(event.finishReason) ? 'length' : 'stop';
}

function pendingCalls(event: EndEvent | PauseEvent): ToolCall[] {
  if (event.type === 'end') return [];
  return event.checkpoint.calls
    .filter(({ result }) => result === undefined)
    .map(({ toolCallId, name, input }) => ({
      id: toolCallId,
      type: 'function',
      function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
    }));
}

function hasReadOutside(event: EndEvent | PauseEvent): boolean {
  return event.type === 'end' ? event.origins !== undefined : originsIn(event.checkpoint.messages).length > 0;
}

/** The text of an answer as `/v1/responses` shows it: thoughts end one message, and text begins the next. */
class SaidTexts {
  readonly texts: string[] = [];
  #isOpen = false;

  get joined(): string {
    return this.texts.join('');
  }

  say(text: string): void {
    if (text === '') return;
    this.texts.push(`${this.#isOpen ? this.texts.pop() : ''}${text}`);
    this.#isOpen = true;
  }

  think(text: string): void {
    if (text !== '') this.#isOpen = false;
  }

  /** The whole answer may say more than its deltas did. */
  end(whole: string): void {
    if (whole.startsWith(this.joined)) this.say(whole.slice(this.joined.length));
  }
}

const noParameters = { type: 'object', properties: {} };

function callerTools({ tools, tool_choice }: CompletionRequest): PausingTool[] {
  if (tool_choice === 'none') return [];
  return (tools ?? []).map(({ function: { name, description = '', parameters = noParameters } }) =>
    defineTool({
      name,
      description,
      // The caller runs it, with rights of their own.
      effects: ['reads'],
      input: inputOfSchema(parameters),
      pause: true,
    }),
  );
}

type Model = ReturnType<Graph['model']>;
type CallOptions = Parameters<Model['doStream']>[0];
type StreamPart =
  Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** A forced tool is forced until the model has said something, and not after that, or the turn would never end. */
function withForcedTool(model: Model, request: CompletionRequest): Model {
  const forced = forcedChoice(request);
  if (forced === undefined) return model;
  let isForced = true;
  return {
    ...model,
    async doStream(options) {
      // A summary of older messages is asked for without tools.
      if (!isForced || !options.tools?.length) return await model.doStream(options);
      const result = await model.doStream({ ...options, toolChoice: forced });
      const listener = new TransformStream<StreamPart, StreamPart>({
        transform(part, controller) {
          if (part.type === 'tool-call' || (part.type === 'text-delta' && part.delta.trim() !== ''))
            isForced = false;
          controller.enqueue(part);
        },
      });
      return { ...result, stream: result.stream.pipeThrough(listener) };
    },
  };
}

function forcedChoice({ tool_choice }: CompletionRequest): CallOptions['toolChoice'] {
  if (tool_choice === 'required') return { type: 'required' };
  if (typeof tool_choice === 'object' && tool_choice !== null)
    return { type: 'tool', toolName: tool_choice.function.name };
  return undefined;
}
