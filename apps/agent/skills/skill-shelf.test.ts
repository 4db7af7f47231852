import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '@trunkline/config';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SkillRepository } from './skill-repository.ts';

describe('skills [A032]', () => {
  let home: TemporaryDirectory;
  const log: string[] = [];
  const logger = createLogger({ name: 'test', destination: { write: (line) => log.push(line) } });

  beforeEach(() => {
    home = temporaryDirectory();
    log.length = 0;
  });
  afterEach(() => home.remove());

  const write = (slug: string, text: string) => {
    mkdirSync(join(home.path, slug), { recursive: true });
    writeFileSync(join(home.path, slug, 'SKILL.md'), text);
  };
  const good = '---\nname: Careful\ndescription: Checks twice\n---\nCheck.\n\nCheck again.\n';

  it('are found by name and by folder, and an edit counts at once', async () => {
    const shelf = new SkillRepository(home.path, logger);
    write('careful', good);
    expect(await shelf.find('careful')).toEqual(await shelf.find('Careful'));
    expect(await shelf.find('Careful')).toMatchObject({
      description: 'Checks twice',
      body: 'Check.\n\nCheck again.',
    });
    write('careful', good.replace('Check again.', 'Once is enough.'));
    expect((await shelf.find('careful'))?.body).toContain('Once is enough.');
    expect(await shelf.find('../careful')).toBeUndefined();
  });

  it.each([
    ['no head', 'Just text.'],
    ['an unknown key', '---\nname: x\ncolour: red\n---\nText'],
    ['no name', '---\ndescription: x\n---\nText'],
    ['too much', `---\nname: x\n---\n${'x'.repeat(200_001)}`],
  ])('with %s are named in the log and left out', async (_, text) => {
    write('broken', text);
    write('careful', good);
    const shelf = new SkillRepository(home.path, logger);
    expect((await shelf.list()).map(({ name }) => name)).toEqual(['Careful']);
    expect(log.join()).toContain('broken');
  });

  it('can be switched off, and a folder that is missing has none', async () => {
    write('careful', good);
    const shelf = new SkillRepository(home.path, logger, (name) => name === 'Careful');
    expect([await shelf.list(), await shelf.find('careful')]).toEqual([[], undefined]);
    expect(await new SkillRepository(join(home.path, 'none'), logger).list()).toEqual([]);
  });
});
