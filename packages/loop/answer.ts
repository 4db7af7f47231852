import type { AssistantContent, LanguageModelCallEndEvent, ModelMessage, ToolSet } from 'ai';
import { toPlainJson } from './plain-json.ts';

type Said = LanguageModelCallEndEvent<ToolSet>['content'][number];
type Kept = Exclude<AssistantContent, string>[number];

/** What the model said, as it goes into the conversation; nothing when it said nothing. */
export function answerOf(content: readonly Said[]): ModelMessage[] {
  const parts = content.map(keptOf).filter((part) => part !== undefined);
  return parts.length === 0 ? [] : [{ role: 'assistant', content: toPlainJson(parts) }];
}

/** Endpoints recognise what they said by the metadata they sent with it. */
function keptOf(part: Said): Kept | undefined {
  const providerOptions = 'providerMetadata' in part ? part.providerMetadata : undefined;
  const mark = providerOptions === undefined ? {} : { providerOptions };
  switch (part.type) {
    case 'text':
      return part.text === '' && providerOptions === undefined
        ? undefined
        : { type: 'text', text: part.text, ...mark };
    case 'reasoning':
      return { type: 'reasoning', text: part.text, ...mark };
    case 'file':
    case 'reasoning-file':
      return { type: part.type, data: part.file.base64, mediaType: part.file.mediaType, ...mark };
    case 'tool-call': {
      const { toolCallId, toolName } = part;
      const input = part.invalid && typeof part.input !== 'object' ? {} : part.input;
      return { type: 'tool-call', toolCallId, toolName, input, ...mark };
    }
    default:
      return undefined;
  }
}
