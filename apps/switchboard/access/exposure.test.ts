import { expect, it } from 'vitest';
import type { SwitchboardOptions } from '../options.ts';
import { switchboardExposures } from './exposure.ts';
import { listedKeys } from './keys.ts';

it('names a weak key of two that stand under one name in keys.yaml', () => {
  const keys = ['FIRST', 'SECOND'].map((envKey) => ({ name: 'ci', envKey }));
  const listed = listedKeys([...keys, { name: 'bot', envKey: 'BOT' }], {
    FIRST: 'weak',
    SECOND: 'q7Lw0ZrT5vXc2NbM8kJh4GfD1sAp6YuE',
    BOT: 'weak-too',
  });
  const [port] = switchboardExposures({ host: '127.0.0.1' } as SwitchboardOptions, listed);
  const weak = Object.entries(port?.keys ?? {}).filter(([, facts]) => facts?.isWeak);
  expect(weak.map(([name]) => name)).toEqual([
    'the key of ci (FIRST) in keys.yaml',
    'the key of bot in keys.yaml',
  ]);
});
