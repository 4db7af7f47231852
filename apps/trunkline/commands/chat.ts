import { createInterface, type Interface } from 'node:readline';
import { RemoteAgentError } from '@trunkline/a2a';
import { type Environment, helpText, readOptions } from '@trunkline/config';
import { AgentClient, adviceFor } from '../chat/agent-client.ts';
import { chatOptions } from '../chat/options.ts';
import { ChatWriter } from '../chat/render.ts';
import { operatorHeaders } from '../operator/operator-headers.ts';

/** Reads lines from the terminal, or from a pipe, until they end; Ctrl-C stops an answer, and at the prompt the program. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(helpText('trunkline chat', chatOptions));
    return 0;
  }
  const { agentPort, authToken, trunklineHome, ...given } = readOptions(chatOptions, { argv, env });
  const agentUrl = given.agentUrl ?? `http://127.0.0.1:${agentPort}`;
  const client = new AgentClient(agentUrl, authToken, operatorHeaders(agentUrl, trunklineHome, env));
  const writer = new ChatWriter(process.stdout, process.stdout.isTTY === true);
  const reader = createInterface({
    input: process.stdin,
    ...(process.stdin.isTTY && { output: process.stdout }),
  });
  try {
    writer.line(`Talking to the agent at ${agentUrl}. An empty line or Ctrl-D ends the conversation.`);
    await converse(client, writer, reader);
    return 0;
  } catch (error) {
    if (!(error instanceof RemoteAgentError)) throw error;
    writer.finish();
    console.error(`${error.message.replace(/[^.!?]$/, '$&.')} ${adviceFor(error)}`);
    return 1;
  } finally {
    reader.close();
  }
}

async function converse(client: AgentClient, writer: ChatWriter, reader: Interface): Promise<void> {
  let answering = false;
  reader.on('SIGINT', () => {
    if (!answering) return reader.close();
    client.cancel().catch((error: Error) => writer.line(`[${error.message}]`));
  });
  prompt(client, reader);
  for await (const line of reader) {
    if (line.trim() === '') return;
    answering = true;
    for await (const event of client.send(line)) writer.write(event);
    answering = false;
    prompt(client, reader);
  }
}

// Only for a person: lines that come through a pipe are read ahead, and need no prompt.
function prompt(client: AgentClient, reader: Interface): void {
  if (!process.stdin.isTTY) return;
  reader.setPrompt(client.waiting ? 'answer> ' : '> ');
  reader.prompt();
}
