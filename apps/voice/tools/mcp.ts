import { type Environment, type Logger, loadYaml, secretStoreOf } from '@trunkline/config';
import type { ModelGateway, Tool } from '@trunkline/llm';
import { createSampler, McpClients } from '@trunkline/mcp';
import type { Policy } from '@trunkline/policy';
import { type Sandbox, sandboxSettings } from '@trunkline/sandbox';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';

export interface McpServersOptions {
  path: string;
  env: Environment;
  logger: Logger;
  sandbox: Sandbox;
  /** Of the model that servers with limits for it may use. */
  gateway: ModelGateway;
  policy: Policy;
}

const name = z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'expected up to 32 letters, digits, - or _');
const texts = z.record(z.string(), z.string());
const head = {
  name,
  trusted: z.boolean().optional(),
  /** Lets the server use our model. */
  sampling: z
    .strictObject({
      calls_per_hour: z.int().min(1).max(1000).default(20),
      max_tokens: z.int().min(1).max(100_000).default(1000),
    })
    .transform(({ calls_per_hour, max_tokens }) => ({ callsPerHour: calls_per_hour, maxTokens: max_tokens }))
    .optional(),
};
const address = z.strictObject({
  ...head,
  transport: z.enum(['http', 'sse']),
  url: z.url(),
  headers: texts.optional(),
});
const program = z.strictObject({
  ...head,
  transport: z.literal('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  env: texts.optional(),
  sandbox: sandboxSettings.optional(),
});
const fileSchema = z.strictObject({
  servers: z.array(z.discriminatedUnion('transport', [address, program])).nullable(),
});

type ConfiguredServer = z.output<typeof address> | z.output<typeof program>;

/** The MCP servers of the file, connected to in the background. */
export class McpServers {
  readonly #clients: McpClients;
  /** Resolves when every server has been tried. */
  readonly settled: Promise<void>;
  #servers: readonly ConfiguredServer[] = [];

  constructor({ path, env, logger, sandbox, gateway, policy }: McpServersOptions) {
    this.#clients = new McpClients({
      clientName: 'trunkline-voice',
      logger,
      configuredIn: () => path,
      sandbox,
      oauth: { store: secretStoreOf(env) },
      sample: createSampler({ gateway: () => gateway, policy: policy.for('voice') }),
    });
    this.settled = loadYaml(path, fileSchema, { env, allowMissing: true })
      .then((file) => {
        this.#servers = file?.servers ?? [];
        return this.#clients.configure(this.#servers);
      })
      .catch((error: unknown) =>
        logger.error({ reason: errorMessage(error) }, 'failed to read the list of MCP servers'),
      );
  }

  /** As the file lists them. */
  get servers(): readonly ConfiguredServer[] {
    return this.#servers;
  }

  get tools(): Tool[] {
    return this.#clients.tools;
  }

  async stop(): Promise<void> {
    await this.#clients.close();
    await this.settled;
  }
}
