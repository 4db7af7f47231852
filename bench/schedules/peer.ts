// Many one-shots due together on croner or on Node's own timers, where nothing is kept: how late each runs.
import { Cron } from 'croner';

const [side = '', countText = '0', dueText = '0'] = process.argv.slice(2);
const [count, due] = [Number(countText), Number(dueText)];
const late: number[] = [];
const fire = (): void => {
  late.push(Date.now() - due);
  if (late.length === count) process.stdout.write(JSON.stringify(late), () => process.exit(0));
};
for (let number = 0; number < count; number += 1) {
  if (side === 'croner') new Cron(new Date(due), { allowPast: true }, fire);
  else setTimeout(fire, due - Date.now());
}
