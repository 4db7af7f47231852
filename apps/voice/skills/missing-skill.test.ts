import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../voice.suite.ts';

describe('a user with a list of skills, of which a file is gone', () => {
  const limited = {
    'users.yaml': 'users: [{id: ben, api_key: ben, allowed_skills: [kids, chef]}, {id: ada, api_key: ada}]',
    'skills/default.yaml': 'name: Default',
    'skills/kids.yaml': 'tools: []',
    'skills/chef.yaml': 'tools: []',
  };
  const start = async (files: Record<string, string> = limited) => {
    const model = await startModelServer({ script: () => 'Fine.' });
    onTestFinished(() => model.stop());
    const env = { A2A_USER_ID: 'ben', LLM_URL: model.url, LLM_MODEL: 'm' };
    const voice = await startVoice({ files, env });
    const refusal = async () => {
      const message = { role: 'user', parts: [{ kind: 'text', text: 'Hello' }] };
      const request = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
      const { result } = (await voice.post('/a2a', request)).body;
      return { state: result?.status?.state, words: JSON.stringify(result?.status) };
    };
    const remove = async (slug: string) => {
      rmSync(join(voice.config, 'skills', `${slug}.yaml`));
      await voice.post('/api/skills/reload', {}, 'ada');
    };
    return { ...voice, model, refusal, remove };
  };

  it('is refused with the name of the file, never answered as another', async () => {
    const only = 'users: [{id: ben, api_key: ben, allowed_skills: [kids]}, {id: ada, api_key: ada}]';
    const voice = await start({ ...limited, 'users.yaml': only });
    expect(await voice.say('Hello')).toBe('Fine.');
    await voice.remove('kids');
    const { state, words } = await voice.refusal();
    expect(state).toBe('failed');
    expect(words).toContain(join('skills', 'kids.yaml'));
    expect(voice.model.chats()).toHaveLength(1);
    expect((await voice.get('/api/skills', 'ben')).body).toMatchObject({ active: 'kids', skills: [] });
  });

  it('is refused when that is the one they have chosen, until they choose another', async () => {
    const voice = await start();
    await voice.post('/api/skills', { slug: 'chef' }, 'ben');
    await voice.remove('chef');
    expect((await voice.refusal()).words).toContain(join('skills', 'chef.yaml'));
    await voice.post('/api/skills', { slug: 'kids' }, 'ben');
    expect(await voice.say('Hello')).toBe('Fine.');
  });

  it('is answered as the next of the list while they have chosen none', async () => {
    const voice = await start();
    await voice.remove('kids');
    expect((await voice.get('/api/skills', 'ben')).body.active).toBe('chef');
    const ben = voice.voice.users.find('ben');
    expect(ben && voice.voice.persona(ben).skill.slug).toBe('chef');
  });

  it('is refused where no file is left at all, although it stands under that name', async () => {
    const only = 'users: [{id: ben, api_key: ben, allowed_skills: [default]}, {id: ada, api_key: ada}]';
    const voice = await start({ 'users.yaml': only, 'skills/default.yaml': 'tools: []' });
    await voice.remove('default');
    expect((await voice.refusal()).words).toContain(join('skills', 'default.yaml'));
  });
});
