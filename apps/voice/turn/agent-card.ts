import type { AgentDescription } from '@trunkline/a2a';
import manifest from '../package.json' with { type: 'json' };

/** What other agents read about this one. */
export function describeVoice(name: string, publicUrl: string): AgentDescription {
  return {
    name,
    description: 'A voice assistant: answers in short spoken sentences, with tools and delegates.',
    version: manifest.version,
    publicUrl,
    provider: { organization: 'Trunkline', url: publicUrl },
    inputModes: ['text/plain'],
    outputModes: ['text/markdown'],
    skills: [
      {
        id: 'chat',
        name: 'Chat',
        description: 'Answers a message as the persona that also speaks.',
        tags: ['chat', 'voice'],
        examples: ['What time is it in Tokyo?'],
      },
    ],
  };
}
