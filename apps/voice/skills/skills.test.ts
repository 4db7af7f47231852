import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startVoice } from '../voice.suite.ts';
import { loadSkills } from './library.ts';
import { titleOf, verbosityInstructions } from './skill.ts';

const users = `users:
  - {id: ada, api_key: ada, role: admin}
  - {id: one, api_key: one, allowed_skills: [josh]}
  - {id: two, api_key: two, allowed_skills: ["  josh  ", "", "chef"]}
  - {id: any, api_key: any}
`;
const files = {
  'users.yaml': users,
  'SOUL.md': 'You are the soul.',
  'skills/default.yaml': 'name: Default\nviz: {variant: fractal, palette: Aurora}',
  'skills/josh.yaml': 'name: Josh\ndescription: A friend.\nvoice: josh-1\nviz: {palette: Noir}',
  'skills/chef.yaml': 'system_prompt: You cook.',
};

describe('the files', () => {
  const load = async (given: Record<string, string>) =>
    loadSkills((await startVoice({ files: given })).config);

  it('inherit from default, and merge behavior, llm and viz one level deep [V004][V025]', async () => {
    const { skills, problems } = await load({
      'skills/default.yaml':
        'temperature: 0.2\nbehavior: {bargein: true}\nllm: {model: m}\nviz: {variant: fractal, palette: Ember}\ntools: [a]',
      'skills/child.yaml':
        'behavior: {backchannel: false}\nviz: {palette: Noir, params: {glow: 0.5}}\nllm: {url: "http://x/v1"}',
      'skills/alone.yaml': 'extends: null\nmax_tokens: 9',
    });
    expect(problems).toEqual([]);
    expect(skills.get('child')).toMatchObject({
      name: 'Child',
      temperature: 0.2,
      tools: ['a'],
      behavior: { bargein: true, backchannel: false },
      llm: { model: 'm', url: 'http://x/v1' },
      viz: { variant: 'fractal', palette: 'Noir', params: { glow: 0.5 } },
    });
    const { temperature, tools, ...alone } = skills.get('alone') ?? {};
    expect(alone).toMatchObject({ max_tokens: 9, viz: {} });
    expect([temperature, tools]).toEqual([undefined, undefined]);
  });

  it('share SOUL.md unless they bring a prompt of their own, in the file or beside it', async () => {
    const { skills } = await load({
      'SOUL.md': 'Soul.',
      'skills/default.yaml': 'description: base',
      'skills/text.yaml': 'system_prompt: Own.',
      'skills/file.yaml': 'extends: text\nsystem_prompt_file: prompts/p.md',
      'prompts/p.md': 'From a file.\n',
    });
    const prompts = ['default', 'text', 'file'].map((slug) => skills.get(slug)?.systemPrompt);
    expect(prompts).toEqual(['Soul.', 'Own.', 'From a file.']);
  });

  it.each([
    ['a parent that is not there', { 'skills/a1.yaml': 'extends: ghost' }, /a1\.yaml.*ghost/s],
    ['a circle', { 'skills/a1.yaml': 'extends: b1', 'skills/b1.yaml': 'extends: a1' }, /extends leads back/],
    ['an unknown key', { 'skills/a1.yaml': 'voise: x' }, /a1\.yaml:1.*voise/s],
    ['a slug that is none', { 'skills/Big.yaml': 'name: B' }, /Big is no slug/],
    ['a prompt outside the directory', { 'skills/a1.yaml': 'system_prompt_file: ../../secret' }, /leads out/],
    ['a prompt that is missing', { 'skills/a1.yaml': 'system_prompt_file: none.md' }, /none\.md/],
    ['one slug twice', { 'skills/a1.yaml': 'slug: b1', 'skills/b1.yaml': 'name: B' }, /is taken by/],
  ])('are refused for %s, and the others load', async (_case, broken, words) => {
    const { skills, problems } = await load({ 'skills/good.yaml': 'name: Good', ...broken });
    expect(problems[0]?.message).toMatch(words);
    expect(skills.has('good')).toBe(true);
  });

  it('expand no variables, as uploads write some of them', async () => {
    const { skills } = await load({ 'skills/aa.yaml': `description: "\${HOME}"` });
    expect(skills.get('aa')?.description).toBe(`\${HOME}`);
  });

  it('get a title from their slug', () => {
    expect([titleOf('night-chef'), titleOf('a_b-c'), titleOf('x1')]).toEqual(['Night Chef', 'A B C', 'X1']);
  });
});

describe('choosing', () => {
  it('shows each caller their list: none, one and two allowed [V013][V017][V023][V024][V067][V079]', async () => {
    const voice = await startVoice({ files });
    const list = async (key: string) => {
      const { body } = await voice.get('/api/skills', key);
      return { ...body, skills: Object.values(body.skills ?? {}).map(({ slug }) => slug) };
    };
    expect(await list('any')).toEqual({
      active: 'default',
      locked: false,
      skills: ['chef', 'default', 'josh'],
    });
    expect(await list('one')).toEqual({ active: 'josh', locked: true, skills: ['josh'] });
    expect(await list('two')).toEqual({ active: 'josh', locked: false, skills: ['chef', 'josh'] });
    expect((await voice.get('/api/skills', 'one')).body.skills).toEqual([
      { slug: 'josh', name: 'Josh', description: 'A friend.', viz: { variant: 'fractal', palette: 'Noir' } },
    ]);
  });

  it('takes what is allowed, refuses what is not, and tells an unknown slug first [V066][V080][V109][V110]', async () => {
    const voice = await startVoice({ files });
    expect(await voice.post('/api/skills', { slug: 'chef' }, 'two')).toMatchObject({
      status: 200,
      body: { active: 'chef' },
    });
    expect((await voice.get('/api/skills', 'two')).body.active).toBe('chef');
    expect(await voice.post('/api/skills', { slug: 'chef' }, 'one')).toMatchObject({
      status: 403,
      body: { detail: "skill 'chef' not in allowed_skills for user 'one'" },
    });
    expect(await voice.post('/api/skills', { slug: 'ghost' }, 'one')).toMatchObject({
      status: 200,
      body: { error: 'unknown skill: ghost', available: ['chef', 'default', 'josh'] },
    });
    expect((await voice.post('/api/skills', { slug: 'chef' }, 'ada')).body).toEqual({ active: 'chef' });
    expect((await voice.get('/api/skills', 'one')).body.active).toBe('josh');
  });

  it('lets an admin, and nobody else, put another user on a skill [V068][V081][V105][V111][V112]', async () => {
    const voice = await startVoice({ files });
    const assign = async (body: object, key = 'ada') => {
      const answer = await voice.post('/api/admin/skills', body, key);
      return { status: answer.status, body: answer.body };
    };
    expect(await assign({ user_id: 'any', slug: 'chef' }, 'any')).toEqual({
      status: 403,
      body: { detail: 'admin role required' },
    });
    expect(await assign({ user_id: '', slug: 'ghost' })).toEqual({
      status: 200,
      body: { error: 'user_id is required' },
    });
    expect(await assign({ slug: 'ghost' })).toEqual({ status: 200, body: { error: 'user_id is required' } });
    expect(await assign({ user_id: 'nobody', slug: 'ghost' })).toEqual({
      status: 200,
      body: { error: 'unknown skill: ghost', available: ['chef', 'default', 'josh'] },
    });
    expect(await assign({ user_id: 'nobody', slug: 'chef' })).toEqual({
      status: 200,
      body: { error: 'unknown user: nobody' },
    });
    expect(await assign({ user_id: 'any', slug: 'chef' })).toEqual({
      status: 200,
      body: { ok: true, user_id: 'any', active: 'chef' },
    });
    expect((await voice.get('/api/skills', 'any')).body.active).toBe('chef');
    const before = (await voice.get('/api/whoami', 'one')).body.allowed_skills;
    await assign({ user_id: 'one', slug: 'chef' });
    expect((await voice.get('/api/whoami', 'one')).body.allowed_skills).toEqual(before);
    expect((await voice.get('/api/skills', 'one')).body).toMatchObject({ active: 'josh', assigned: 'chef' });
    const one = voice.voice.users.find('one');
    expect(one && voice.voice.persona(one).skill.slug).toBe('chef');
  });

  it('does not ask for a known user in single-user mode', async () => {
    const voice = await startVoice();
    expect((await voice.post('/api/admin/skills', { user_id: 'default', slug: 'chef' })).body).toEqual({
      ok: true,
      user_id: 'default',
      active: 'chef',
    });
    expect((await voice.get('/api/skills')).body.active).toBe('chef');
  });

  it('survives a restart, and a skill that is gone gives way', async () => {
    const first = await startVoice({ files });
    await first.post('/api/skills', { slug: 'chef' }, 'any');
    await first.stop();
    const second = await startVoice({ home: first.home });
    expect((await second.get('/api/skills', 'any')).body.active).toBe('chef');
    second.put('skills/chef.yaml', 'slug: cook');
    await second.post('/api/skills/reload', {}, 'any');
    expect((await second.get('/api/skills', 'any')).body.active).toBe('default');
  });
});

describe('reloading', () => {
  it('reads every file and SOUL.md anew, and a snapshot taken before stays [V082]', async () => {
    const voice = await startVoice({ files });
    const user = voice.voice.users.find('any');
    if (user === undefined) throw new Error('no user');
    const before = voice.voice.persona(user);
    voice.put('SOUL.md', 'Another soul.');
    voice.put('skills/new.yaml', 'name: New');
    expect((await voice.post('/api/skills/reload', {}, 'any')).body).toEqual({
      ok: true,
      skills: ['chef', 'default', 'josh', 'new'],
      active: 'default',
    });
    expect(before.instructions).toContain('You are the soul.');
    expect(voice.voice.persona(user).instructions).toContain('Another soul.');
  });

  it('counts the newest of two at once, also where the older one is held up', async () => {
    const voice = await startVoice({ files });
    const slow = join(voice.config, 'slow.md');
    execFileSync('mkfifo', [slow]);
    voice.put('skills/slow.yaml', 'system_prompt_file: slow.md');
    const older = voice.post('/api/skills/reload', {}, 'any');
    const writer = await open(slow, 'w');
    rmSync(join(voice.config, 'skills', 'slow.yaml'));
    voice.put('skills/josh.yaml', 'name: Joshua');
    const newer = voice.post('/api/skills/reload', {}, 'any');
    // Time in which the newer one could be done.
    for (let asked = 0; asked < 20; asked += 1) await voice.get('/api/skills', 'any');
    await writer.writeFile('You are slow.');
    await writer.close();
    await older;
    expect((await newer).body).toMatchObject({ ok: true, skills: ['chef', 'default', 'josh'] });
    expect(voice.voice.library.slugs).toEqual(['chef', 'default', 'josh']);
    expect(voice.voice.library.find('josh')?.name).toBe('Joshua');
  });

  it('keeps what was loaded when a file is broken, and names file and line', async () => {
    const voice = await startVoice({ files });
    voice.put('skills/josh.yaml', 'name: J\ntemperature: hot');
    const { status, body } = await voice.post('/api/skills/reload', {}, 'any');
    expect(status).toBe(200);
    expect(body.error).toMatch(/josh\.yaml:2/);
    expect(voice.voice.library.find('josh')?.name).toBe('Josh');
  });

  it('leaves a file out that is broken at the start, and says so', async () => {
    const voice = await startVoice({ files: { ...files, 'skills/josh.yaml': 'tools: [' } });
    expect(voice.voice.library.slugs).toEqual(['chef', 'default']);
    expect(voice.lines.find(({ message }) => message === 'failed to load skill')?.fields.reason).toContain(
      'josh.yaml',
    );
    expect(readFileSync(join(voice.config, 'skills/josh.yaml'), 'utf8')).toBe('tools: [');
  });
});

describe('verbosity', () => {
  it('is kept per user and survives a restart [V077][V078]', async () => {
    const voice = await startVoice({ files });
    expect((await voice.get('/api/verbosity', 'one')).body).toEqual({ verbosity: 'brief' });
    expect((await voice.post('/api/verbosity', { level: 'CHATTY' }, 'one')).body).toEqual({
      verbosity: 'chatty',
    });
    expect((await voice.get('/api/verbosity', 'two')).body).toEqual({ verbosity: 'brief' });
    await voice.stop();
    const again = await startVoice({ home: voice.home, env: { VERBOSITY: 'silent' } });
    expect((await again.get('/api/verbosity', 'one')).body).toEqual({ verbosity: 'chatty' });
    expect((await again.get('/api/verbosity', 'two')).body).toEqual({ verbosity: 'silent' });
  });

  it('refuses other levels with status 200 and the list [V108]', async () => {
    const voice = await startVoice();
    expect(await voice.post('/api/verbosity', { level: 'loud' })).toMatchObject({
      status: 200,
      body: { error: 'level must be silent|brief|narrated|chatty' },
    });
  });

  it("reaches the persona: the user's choice, else the skill's, else the service's", async () => {
    const voice = await startVoice({
      files: { 'skills/default.yaml': 'name: D', 'skills/talker.yaml': 'filler_verbosity: chatty' },
    });
    const user = voice.voice.users.find('default');
    if (user === undefined) throw new Error('no user');
    const level = () => voice.voice.persona(user).verbosity;
    expect(level()).toBe('brief');
    await voice.post('/api/skills', { slug: 'talker' });
    expect(level()).toBe('chatty');
    await voice.post('/api/verbosity', { level: 'silent' });
    expect(level()).toBe('silent');
    expect(voice.voice.persona(user).instructions).toContain(verbosityInstructions('silent'));
  });
});
