// Makes recorded opinions of a model's answers to the prompts of questions.ts: node bench/research/opinions.ts SET DIRECTORY
// The answer to DIRECTORY/01.txt lies in DIRECTORY/01.json, and so on, in the form that the prompt asks for.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { opinionsIn, writeOpinions } from '@trunkline/research/planted';

const [set, directory] = process.argv.slice(2);
if (set === undefined || directory === undefined)
  throw new Error('Give the name or path of a set, and the directory of its prompts and answers.');
const prompts = readdirSync(directory)
  .filter((name) => name.endsWith('.txt'))
  .sort();
const opinions = prompts.flatMap((name) => opinionsOf(join(directory, name)));
console.log(`${opinions.length} opinions lie in ${writeOpinions(set, opinions)}.`);

function opinionsOf(promptFile: string) {
  const answerFile = promptFile.replace(/\.txt$/, '.json');
  try {
    return opinionsIn(readFileSync(promptFile, 'utf8'), JSON.parse(readFileSync(answerFile, 'utf8')));
  } catch (error) {
    throw new Error(`${answerFile} cannot be taken: ${String(error)}`, { cause: error });
  }
}
