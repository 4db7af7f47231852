// Many one-shots due together on croner or on Node's own timers: how late each runs. With `kept`, each is written down first.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Cron } from 'croner';

const [side = '', countText = '0', dueText = '0', directory = ''] = process.argv.slice(2);
const [count, due] = [Number(countText), Number(dueText)];
const keep = side === 'kept' ? openStore() : () => undefined;
const late: number[] = [];
const fire = (number: number): void => {
  keep(number);
  late.push(Date.now() - due);
  if (late.length === count) process.stdout.write(JSON.stringify(late), () => process.exit(0));
};
for (let number = 0; number < count; number += 1) {
  if (side === 'timers') setTimeout(() => fire(number), due - Date.now());
  else new Cron(new Date(due), { allowPast: true }, () => fire(number));
}

/** As a program of a few lines would: a row a fire, which survives the end of the process. */
function openStore(): (number: number) => void {
  const database = new DatabaseSync(join(directory, 'fires.db'));
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE fires (id TEXT PRIMARY KEY, at INTEGER, body TEXT)',
  );
  const insert = database.prepare('INSERT INTO fires VALUES (?, ?, ?)');
  return (number) => {
    const body = {
      id: `job-${number}`,
      topic: 'message.outbound.bench',
      payload: { content: `Job ${number}` },
    };
    insert.run(`job-${number}@${due}`, Date.now(), JSON.stringify(body));
  };
}
