import type { Principal } from '@trunkline/identity';
import { type Content, fitContents, markOf, userContent } from '@trunkline/loop';
import {
  type ContentPart,
  contentParts,
  openAiErrors,
  type RequestMessage,
  textOf,
} from '@trunkline/openai-api';
import { type AgentContent, ContentRefusal } from '../content/agent-content.ts';
import type { Messages } from '../turns/session-store.ts';

/** Tokens that the documents of one message may take together. */
const documentTokens = 20_000;

const pictureMark = markOf([{ kind: 'file', source: 'image' }]);

interface Place {
  principal: Principal;
  sessionId: string;
}

type UserPart = Exclude<ReturnType<typeof userContent>, string>[number];

/** Inline images go to the model as they came, marked as files are; the rest is taken as in any other message. */
export async function userMessage(
  entry: RequestMessage,
  content: AgentContent,
  place: Place,
  signal: AbortSignal,
): Promise<Messages[number]> {
  const parts = contentParts(entry);
  if (parts.every(({ type }) => type === 'text')) return { role: 'user', content: textOf(entry) };
  const told: UserPart[] = [];
  try {
    for (const part of parts) {
      if (part.type === 'text') told.push(part);
      else if ('base64' in part && part.type === 'image')
        told.push({ type: 'file', mediaType: part.mediaType, data: part.base64, ...pictureMark });
      else {
        const contents = fitContents(await received(part, content, place, signal), documentTokens);
        told.push(...(userContent('', contents) as UserPart[]));
      }
    }
  } catch (error) {
    if (!(error instanceof ContentRefusal)) throw error;
    throw openAiErrors.invalid_request_error({ message: error.message });
  }
  return { role: 'user', content: told };
}

async function received(
  part: Exclude<ContentPart, { type: 'text' }>,
  content: AgentContent,
  place: Place,
  signal: AbortSignal,
): Promise<Content[]> {
  if ('url' in part) return await fileAt(part, content, place, signal);
  const { mediaType, base64: bytes } = part;
  const name = 'name' in part ? part.name : part.type;
  return await content.receive([{ type: 'file', bytes, mediaType, name }], place, signal);
}

/** What is at an address, fetched as files that messages of A2A name by theirs. */
async function fileAt(
  { type, url: uri }: Extract<ContentPart, { url: string }>,
  content: AgentContent,
  place: Place,
  signal: AbortSignal,
): Promise<Content[]> {
  const contents = await content.receive([{ type: 'file', uri }], place, signal).catch((error: unknown) => {
    if (!(error instanceof ContentRefusal)) throw error;
    throw new ContentRefusal(`${type}_url: ${error.message}`, { cause: error });
  });
  if (type === 'image' && contents.some((each) => each.type !== 'image'))
    throw new ContentRefusal('image_url must lead to a picture: PNG, JPEG, WebP or GIF.');
  return contents;
}
