import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '@trunkline/storage';

const soul = `# Soul

You are a warm, quick-witted voice assistant. You are heard, not read.

- Speak in short plain sentences. No lists, no headings, no symbols that cannot be said aloud.
- Say numbers, dates and units the way a person would.
- When you do not know something, say so, or use a tool to find out.
- Never invent the result of a tool. When a tool fails, say in a few words what went wrong.
- Ask at most one question at a time.
`;

const defaultSkill = `# The persona that answers everyone who has chosen no other.
# Other files beside this one extend it: they take from here what they leave out.
name: Default
description: A helpful voice assistant.
system_prompt_file: SOUL.md
viz:
  variant: fractal
  palette: Aurora
`;

const chefSkill = `name: Chef
description: Cooks with you, one step at a time.
system_prompt: |
  You are a patient chef who cooks together with the listener, by voice.
  Give one step at a time and wait until they are ready for the next.
  Name amounts and times in words that are easy to follow at the stove.
tools: [current_time, calculator]
viz:
  variant: particles
  palette: Ember
`;

const delegatesExample = `# Copy this file to delegates.yaml and name whom the assistant may ask.
delegates:
  - name: research_agent
    description: Looks things up on the web and answers with sources.
    type: a2a
    url: \${RESEARCH_AGENT_URL:-http://127.0.0.1:7870/a2a}
    auth:
      scheme: bearer
      credentialsEnv: RESEARCH_AGENT_TOKEN

  - name: big_model
    description: A larger model for hard questions.
    type: compat
    url: \${BIG_MODEL_URL:-http://127.0.0.1:8000/v1}
    model: large
    api_key_env: BIG_MODEL_KEY
    max_tokens: 400
    temperature: 0.4
`;

const usersExample = `# Copy this file to users.yaml to ask for keys. While there is no users.yaml, everyone who reaches the port is admin.
users:
  - id: ada
    display_name: Ada
    api_key: \${ADA_KEY}
    role: admin
  - id: ben
    display_name: Ben
    api_key: \${BEN_KEY}
    allowed_skills: [default, chef]
`;

/** Puts examples where a configuration directory lacks them; what is there stays as it is. */
export async function seedConfig(directory: string): Promise<void> {
  const skills = join(directory, 'skills');
  const fresh = !existsSync(skills);
  await seed(join(directory, 'SOUL.md'), soul);
  if (fresh) {
    await seed(join(skills, 'default.yaml'), defaultSkill);
    await seed(join(skills, 'chef.yaml'), chefSkill);
  }
  await seed(join(directory, 'delegates.example.yaml'), delegatesExample);
  await seed(join(directory, 'users.example.yaml'), usersExample);
}

async function seed(path: string, text: string): Promise<void> {
  if (!existsSync(path)) await writeFileAtomic(path, text);
}
