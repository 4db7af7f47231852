import type { ModelMessage } from 'ai';

const longestPart = 2000;

type Part = Exclude<ModelMessage['content'], string>[number];

/** A conversation as text, one paragraph per thing said or done, each at most 2000 characters. */
export function transcriptOf(messages: readonly ModelMessage[]): string {
  return messages.flatMap(linesOf).join('\n\n');
}

function linesOf({ role, content }: ModelMessage): string[] {
  const speaker = role === 'user' ? 'User' : 'Assistant';
  if (typeof content === 'string') return [`${speaker}: ${shortened(content)}`];
  return content.map((part) => describe(part, speaker)).filter((line) => line !== '');
}

function describe(part: Part, speaker: string): string {
  switch (part.type) {
    case 'text':
      return `${speaker}: ${shortened(part.text)}`;
    case 'tool-call':
      return `Assistant called ${part.toolName} with ${shortened(JSON.stringify(part.input))}`;
    case 'tool-result':
      return `${part.toolName} returned: ${shortened(resultText(part.output))}`;
    case 'file':
    case 'image':
      return `${speaker} sent a file.`;
    default:
      return '';
  }
}

function resultText(output: Extract<Part, { type: 'tool-result' }>['output']): string {
  return 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output);
}

function shortened(text: string): string {
  return text.length > longestPart ? `${text.slice(0, longestPart)}…` : text;
}
