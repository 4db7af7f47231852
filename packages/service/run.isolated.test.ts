import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild, temporaryHome, waitFor } from '@trunkline/testing';
import { afterEach, expect, it } from 'vitest';

const home = temporaryHome();
const file = join(home.environment.TRUNKLINE_HOME ?? '', 'settings.yaml');
let child: Child | undefined;
afterEach(async () => {
  await child?.kill();
  home.remove();
});

it('a service alone follows settings.yaml on its port, and keeps what works', async () => {
  const { environment } = home;
  child = startChild(new URL('./fixtures/greeting-service.ts', import.meta.url), { environment });
  const url = /http:\S+/.exec(await child.waitForLine('http://127.0.0.1'))?.[0] ?? '';
  const says = async (words: string) =>
    waitFor(async () => (await (await fetch(url)).text()).includes(words));
  await says('hello');
  writeFileSync(file, 'GREETING: good morning\n');
  await says('good morning');
  writeFileSync(file, 'GREETING: no\n');
  await says('good morning it does not greet like this');
  writeFileSync(file, 'GREETINGS: good evening\n');
  await says('good morning The settings of A service that greets cannot be used');
  writeFileSync(file, 'GREETING: good evening\n');
  await says('good evening ');
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
