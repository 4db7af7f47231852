import { createRequire } from 'node:module';
import { type Child, startChild } from '../child.ts';
import { freePort } from '../network.ts';

const ATTEMPTS = 3;
/** A program takes its time to start on a busy machine. */
const START_MS = 45_000;

export interface McpExample extends Pick<Child, 'kill'> {
  url: string;
  /** Of its authorization server, which it has with `--oauth`. */
  authPort: number;
}

/** The example server of the official SDK as a process. It is started again where somebody took one of its ports first. */
export async function startMcpExample(...given: string[]): Promise<McpExample> {
  const script = createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/sdk/examples/server/simpleStreamableHttp.js',
  );
  for (let attempt = 1; ; attempt += 1) {
    const [port, authPort] = [await freePort(), await freePort()];
    const environment = { MCP_PORT: String(port), MCP_AUTH_PORT: String(authPort) };
    const child = startChild(script, { environment, arguments: given });
    try {
      await child.waitForLine('MCP Streamable HTTP Server listening', START_MS);
      return { url: `http://localhost:${port}/mcp`, authPort, kill: child.kill };
    } catch (error) {
      await child.kill();
      if (attempt === ATTEMPTS || !child.output().includes('EADDRINUSE')) throw error;
    }
  }
}
