// Writes down what the citation checker asks a model about a planted set, a file a prompt: node bench/research/questions.ts SET DIRECTORY
// SET is the name of a set of apps/research/fixtures/planted, or the path of a .txt file of the same form.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgedWithModel, plantedClaims } from '@trunkline/research/planted';
import { type ChatRequestBody, startModelServer } from '@trunkline/testing';

const [set, directory] = process.argv.slice(2);
if (set === undefined || directory === undefined)
  throw new Error('Give the name or path of a set, and a directory for its prompts.');
mkdirSync(directory, { recursive: true });
if (readdirSync(directory).length > 0)
  throw new Error(`${directory} holds files already: give an empty directory.`);
// An answer without verdicts leaves every claim to the rules; what is asked does not depend on answers.
const model = await startModelServer({ script: () => JSON.stringify({ verdicts: [] }) });
await judgedWithModel(plantedClaims(set), model.url);
await model.stop();
const prompts = model.chats();
for (const [index, prompt] of prompts.entries())
  writeFileSync(join(directory, `${String(index + 1).padStart(2, '0')}.txt`), wordsOf(prompt));
console.log(`${prompts.length} prompts lie in ${directory}.`);

/** Everything that the model is sent. */
function wordsOf({ messages, response_format: format }: ChatRequestBody): string {
  const said = messages.map(({ role, content }) => `=== ${role} ===\n${String(content)}`);
  return `${[...said, `=== response_format ===\n${JSON.stringify(format)}`].join('\n\n')}\n`;
}
