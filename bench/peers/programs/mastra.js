// Mastra's own server around one agent with one tool. With MASTRA_MEMORY (a database file) conversations are kept in LibSQL.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { createNodeServer } from '@mastra/deployer/server';
import { z } from 'zod';

const { LLM_GATEWAY_URL, MASTRA_MEMORY, PORT } = process.env;
const calculator = createTool({
  id: 'calculator',
  description: 'Computes an arithmetic expression.',
  inputSchema: z.object({ expression: z.string().describe('Such as 12 * 34') }),
  execute: async ({ expression }) => {
    const [left = '', right = ''] = expression.split('*');
    return String(Number(left) * Number(right));
  },
});
const provider = createOpenAICompatible({ name: 'gateway', baseURL: LLM_GATEWAY_URL, includeUsage: true });
const agent = new Agent({
  id: 'bench',
  name: 'bench',
  instructions: 'You multiply.',
  model: provider('bench-model'),
  tools: { calculator },
  ...(MASTRA_MEMORY && { memory: new (await import('@mastra/memory')).Memory() }),
});
const mastra = new Mastra({
  agents: { bench: agent },
  ...(MASTRA_MEMORY && { storage: await createStorage() }),
  server: { host: '127.0.0.1', port: Number(PORT) },
});
await createNodeServer(mastra, { tools: {} });

async function createStorage() {
  const { LibSQLStore } = await import('@mastra/libsql');
  return new LibSQLStore({ id: 'bench', url: `file:${MASTRA_MEMORY}` });
}
