import type { OAuthOptions } from './oauth.ts';
import type { Sample } from './server-requests.ts';
import type { McpSession, ProgramOptions, SessionOptions } from './session.ts';
import type { McpServerConfig, McpTool } from './types.ts';

export interface McpClientOptions<Server extends McpServerConfig = McpServerConfig> extends ProgramOptions {
  /** How we introduce ourselves to servers. */
  clientName: string;
  logger: { warn(fields: object, message: string): void };
  /** Lets the operator sign in to servers that ask for it. */
  oauth?: OAuthOptions | undefined;
  /** Answers with our model what a server with limits for sampling asks. */
  sample?: Sample | undefined;
  /** Called when a resource under `subscribe` of the server has changed. */
  onResourceUpdated?: (server: Server, uri: string) => void;
  /** The file or section that configures the server; error texts name it. */
  configuredIn?: (server: Server) => string;
  /** Leaves out tools that the configuration does not let through. */
  isOffered?: (server: Server, tool: string) => boolean;
  /** Tools that the server had before a restart, until it has answered. */
  storedTools?: (server: Server) => readonly McpTool[];
}

const PROBE_MS = 20_000;

/** Connects once, lists the tools and leaves; rejects with the reason for the operator. */
export async function probeMcpServer<Server extends McpServerConfig>(
  server: Server,
  options: Pick<McpClientOptions<Server>, SharedOptions | 'isOffered'>,
): Promise<McpTool[]> {
  const { session, tools } = await connect(server, limitOf(PROBE_MS), await sessionOptions(server, options));
  await session.close();
  return tools.filter(({ name }) => options.isOffered?.(server, name) ?? true);
}

type SharedOptions = 'clientName' | 'configuredIn' | 'oauth' | 'sample' | keyof ProgramOptions;

export async function sessionOptions<Server extends McpServerConfig>(
  server: Server,
  {
    clientName,
    configuredIn,
    sandbox,
    writable,
    platform,
    oauth,
    sample,
  }: Pick<McpClientOptions<Server>, SharedOptions>,
): Promise<Omit<SessionOptions, 'signal'>> {
  return {
    clientName,
    configuredIn: configuredIn?.(server) ?? `the configuration of ${server.name}`,
    sandbox,
    writable,
    platform,
    sample,
    oauth: oauth && (await oauthSession(server, oauth)),
  };
}

async function oauthSession(server: McpServerConfig, options: OAuthOptions) {
  const { url = '' } = server;
  if (!URL.canParse(url)) return undefined;
  const { McpOAuth } = await import('./oauth.ts');
  return new McpOAuth({ ...server, url }, options).session;
}

/** Gives connecting and listing the whole limit each. */
export async function connect(
  server: McpServerConfig,
  limit: () => AbortSignal,
  options: Omit<SessionOptions, 'signal'>,
): Promise<{ session: McpSession; tools: McpTool[] }> {
  const { openSession } = await import('./session.ts');
  const session = await openSession(server, { ...options, signal: limit() });
  try {
    return { session, tools: await session.listTools(limit()) };
  } catch (error) {
    await session.close();
    throw error;
  }
}

export function limitOf(timeoutMs: number, closing?: AbortSignal): () => AbortSignal {
  return () => AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(closing ? [closing] : [])]);
}
