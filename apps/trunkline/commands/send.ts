import { createInterface, type Interface } from 'node:readline';
import { type Environment, helpText, readOptions } from '@trunkline/config';
import { separateFlags } from '../arguments.ts';
import { operatorHeaders } from '../operator/operator-headers.ts';
import { sendOptions } from '../send/options.ts';
import { SendError, SwitchboardClient } from '../send/switchboard-client.ts';

/** Sends the words given, or each line of the terminal or a pipe, and prints what comes back. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(helpText('trunkline send [TEXT]', sendOptions));
    return 0;
  }
  const { flags, words } = separateFlags(argv);
  const options = readOptions(sendOptions, { argv: flags, env });
  const { switchboardUrl, switchboardPort, apiKey, trunklineHome, skill, timeoutS } = options;
  const url = switchboardUrl ?? `http://127.0.0.1:${switchboardPort}`;
  const client = new SwitchboardClient({
    url,
    key: apiKey,
    operatorHeaders: operatorHeaders(url, trunklineHome, env),
    timeoutS,
  });
  const reader = createInterface({
    input: process.stdin,
    ...(process.stdin.isTTY && { output: process.stdout }),
  });
  const lines = reader[Symbol.asyncIterator]();
  try {
    if (words.length > 0) return await exchange(client, words.join(' '), skill, lines, reader);
    return await converse(client, skill, lines, reader);
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    console.error(error.message);
    return 1;
  } finally {
    reader.close();
  }
}

async function converse(
  client: SwitchboardClient,
  skill: string | undefined,
  lines: AsyncIterator<string>,
  reader: Interface,
): Promise<number> {
  let code = 0;
  prompt(reader, '> ');
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    if (line.value.trim() === '') return code;
    code = await exchange(client, line.value, skill, lines, reader);
    prompt(reader, '> ');
  }
  return code;
}

/** One message and its answer; questions on the way are answered by the next line. */
async function exchange(
  client: SwitchboardClient,
  message: string,
  skill: string | undefined,
  lines: AsyncIterator<string>,
  reader: Interface,
): Promise<number> {
  for await (const event of client.send(message, skill)) {
    if (event.type === 'end') {
      if (event.failed) console.error(event.text);
      else console.log(event.text);
      return event.failed ? 1 : 0;
    }
    console.log(`? ${event.text}`);
    prompt(reader, 'answer> ');
    const line = await lines.next();
    if (line.done === true) throw new SendError('The question was not answered; it waits in the console.');
    await client.answer(event.requestId, line.value);
  }
  return 1;
}

function prompt(reader: Interface, words: string): void {
  if (!process.stdin.isTTY) return;
  reader.setPrompt(words);
  reader.prompt();
}
