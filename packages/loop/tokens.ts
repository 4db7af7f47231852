import type { ModelMessage } from 'ai';

const asciiPerToken = 4;
const tokensPerMessage = 4;
const tokensPerFile = 1000;

/**
 * A rough count of tokens without a tokeniser: one for four ASCII characters, one for any other character,
 * four for the frame of each message, and a thousand for an image or file.
 */
export function estimateTokens(content: string | readonly ModelMessage[]): number {
  if (typeof content === 'string') return estimateText(content);
  return content.reduce((sum, message) => sum + tokensPerMessage + estimateContent(message.content), 0);
}

function estimateContent(content: ModelMessage['content']): number {
  if (typeof content === 'string') return estimateText(content);
  return content.reduce((sum, part) => sum + estimatePart(part), 0);
}

function estimatePart(part: Exclude<ModelMessage['content'], string>[number]): number {
  if (part.type === 'text' || part.type === 'reasoning') return estimateText(part.text);
  if (part.type === 'file' || part.type === 'image' || part.type === 'reasoning-file') return tokensPerFile;
  return estimateText(JSON.stringify(part));
}

function estimateText(text: string): number {
  const others = text.match(/[^\p{ASCII}]/gu)?.length ?? 0;
  return Math.ceil((text.length - others) / asciiPerToken) + others;
}
