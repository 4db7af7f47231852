import type { Principal } from '@trunkline/identity';
import { costOf, silenceLimitMs, withCallSettings } from '@trunkline/llm';
import {
  type Content,
  type EndEvent,
  fitContents,
  runTurn,
  type TurnFiles,
  type TurnPolicy,
  userContent,
} from '@trunkline/loop';
import type { Sample, SamplingRequest } from '@trunkline/mcp';
import type { Policy } from '@trunkline/policy';
import type { ServiceAddress } from '@trunkline/service';
import type { LiveModel } from '../agent-factory.ts';
import type { AgentContent } from '../content/agent-content.ts';
import type { AgentOptions } from '../options.ts';
import { signInCallback } from '../routes/mcp-sign-in.ts';
import type { LiveConfig } from '../setup/config-file.ts';
import type { ToolsetOptions } from '../toolset.ts';
import type { Messages } from '../turns/session-store.ts';

interface McpDeps {
  options: Pick<AgentOptions, 'agentName'>;
  live: Pick<LiveConfig, 'store'>;
  policy: Policy;
  address: ServiceAddress;
  model: Pick<LiveModel, 'gateway'>;
  content: Pick<AgentContent, 'turnFiles'>;
}

/** How clients of MCP servers sign in, and the model that servers may use. */
export function mcpClientOptions(deps: McpDeps): ToolsetOptions['mcp'] {
  const { options, live, policy, address, model, content } = deps;
  return {
    oauth: { store: live.store, redirectUrl: () => `${address.publicUrl}${signInCallback}` },
    sample: createSampler({ model, content, policy: policy.for(options.agentName) }),
  };
}

interface SamplerDeps extends Pick<McpDeps, 'model' | 'content'> {
  policy: TurnPolicy;
}

/** Of the documents of one message together. */
const DOCUMENT_TOKENS = 20_000;

/**
 * Answers with the agent's model what an MCP server asks. The model gets the server's text and files alone: no tools, no memory,
 * nothing of any conversation. The operator consents by `sampling` of the server; policy can refuse, and its budgets count.
 */
function createSampler({ model, policy, content }: SamplerDeps): Sample {
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
    const { gateway } = model;
    const sessionId = `mcp-sampling:${server}`;
    const files = content.turnFiles({ principal, sessionId });
    const told: Messages = [];
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
  files: TurnFiles,
  signal: AbortSignal,
): Promise<Messages[number]> {
  const contents: Content[] = [];
  for (const file of given) {
    const { id } = await files.store(file);
    contents.push(await files.content(id, signal));
  }
  return { role, content: userContent(text, fitContents(contents, DOCUMENT_TOKENS)) } as Messages[number];
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
