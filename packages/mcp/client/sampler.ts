import type { Principal } from '@trunkline/identity';
import { costOf, type ModelGateway, silenceLimitMs, withCallSettings } from '@trunkline/llm';
import {
  type Content,
  type EndEvent,
  fitContents,
  type RunTurnOptions,
  runTurn,
  type TurnFiles,
  type TurnPolicy,
  userContent,
} from '@trunkline/loop';
import type { Sample, SamplingRequest } from './server-requests.ts';

type Message = RunTurnOptions['messages'][number];

export interface SamplerDeps {
  /** Asked with each request, so that a change of the settings counts at once. */
  gateway(): Pick<ModelGateway, 'languageModel' | 'price'>;
  policy: TurnPolicy;
  /** Left out where files are not stored: then the model is told which it does not get. */
  files?(place: { principal: Principal; sessionId: string }): TurnFiles;
}

/** Of the documents of one message together. */
const DOCUMENT_TOKENS = 20_000;

/**
 * Answers with a service's model what an MCP server asks. The model gets the server's text and files alone: no tools, no memory,
 * nothing of any conversation. The operator consents by `sampling` of the server; policy can refuse, and its budgets count.
 */
export function createSampler({ gateway: current, policy, files: filesFor }: SamplerDeps): Sample {
  return async (request) => {
    const { server, messages, maxTokens, signal } = request;
    const principal: Principal = { kind: 'agent', id: `mcp:${server}`, via: [] };
    const call = {
      principal,
      agent: policy.agent,
      tool: `${server}_sampling`,
      effects: ['spends' as const],
      subject: { recipient: server },
      origins: [],
    };
    const { decision, rule, why } = policy.decide(call);
    // Nobody can be asked here.
    const refused = decision === 'allow' ? policy.spend?.(call) : why;
    policy.record?.({
      request: call,
      input: { messages: messages.length, maxTokens },
      decision,
      rule,
      result: refused === undefined ? 'started' : 'refused',
      sessionId: `mcp-sampling:${server}`,
    });
    if (refused !== undefined) throw new Error(`policy does not allow it: ${refused}`);
    const gateway = current();
    const sessionId = `mcp-sampling:${server}`;
    const files = filesFor?.({ principal, sessionId });
    const told: Message[] = [];
    for (const message of messages) told.push(await toldOf(message, files, signal));
    const chat = gateway.languageModel();
    const language = withCallSettings(chat, { maxOutputTokens: maxTokens }, () => undefined);
    const silentMs = silenceLimitMs(chat, undefined);
    const end = await lastOf(
      runTurn({
        model: language,
        instructions: instructionsFor(request),
        tools: [],
        messages: told,
        files,
        limits: { steps: 1, toolTimeoutMs: silentMs, turnTimeoutMs: silentMs },
        sessionId,
        principal,
        policy,
        signal,
        cost: (name, tokens) => costOf(gateway.price(name), tokens),
      }),
    );
    const stopReason = end.finishReason === 'length' ? ('maxTokens' as const) : ('endTurn' as const);
    return { text: end.text, model: language.modelId, stopReason };
  };
}

/** Documents as text; the model sees and hears the rest, where it can. */
async function toldOf(
  { role, text, files: given }: SamplingRequest['messages'][number],
  files: TurnFiles | undefined,
  signal: AbortSignal,
): Promise<Message> {
  const contents: Content[] = [];
  for (const file of given) {
    if (files === undefined) {
      contents.push({ type: 'text', text: `[You do not get ${file.name} (${file.mediaType}). Say so.]` });
      continue;
    }
    const { id } = await files.store(file);
    contents.push(await files.content(id, signal));
  }
  return { role, content: userContent(text, fitContents(contents, DOCUMENT_TOKENS)) } as Message;
}

function instructionsFor({ server, systemPrompt }: SamplingRequest): string {
  const head = `You complete a text for the program ${server}. You have no tools and know of no conversation but this one.`;
  return systemPrompt === undefined ? head : `${head}\n\n${systemPrompt}`;
}

async function lastOf(events: ReturnType<typeof runTurn>): Promise<EndEvent> {
  for await (const event of events) {
    if (event.type === 'end') return event;
    if (event.type === 'error') throw new Error(event.message);
  }
  throw new Error('the model gave no answer');
}
