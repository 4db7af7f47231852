import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { contentOf, type McpContent } from './content.ts';
import type { McpTool } from './types.ts';

/** A prompt that a server offers to people, as they pick it. */
export interface McpPrompt {
  name: string;
  title: string;
  description: string;
  arguments: readonly { name: string; description: string; required: boolean }[];
}

export interface McpResource {
  /** Of a template: with places for values in braces. */
  uri: string;
  name: string;
  description: string;
  mimeType?: string;
}

const MAX_ENTRIES = 1000;
const MAX_PAGES = 100;
const MAX_DESCRIPTION = 8000;
const MAX_SHORT = 500;
/** The session has limits of its own; the SDK's default of 60 s must not undercut them. */
export const NO_TIMEOUT = 2 ** 31 - 1;

/** Not `client.listTools`, which keeps the output schemas of the last page only, and refuses a list for one bad schema. */
export async function listTools(client: Client, signal: AbortSignal): Promise<McpTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const listed = await allPages(async (params) => {
    const request = { method: 'tools/list' as const, params };
    const page = await client.request(request, ListToolsResultSchema, { signal, timeout: NO_TIMEOUT });
    return { entries: page.tools, next: page.nextCursor };
  });
  return listed.map(({ name, description = '', inputSchema, annotations, execution }) => ({
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    inputSchema,
    ...(annotations?.readOnlyHint === true && { readOnly: true }),
    ...(annotations?.destructiveHint === true && { destructive: true }),
    ...(annotations?.idempotentHint === true && { idempotent: true }),
    ...(annotations?.openWorldHint === false && { openWorld: false }),
    ...(execution?.taskSupport === 'required' && { needsTask: true }),
  }));
}

export async function listPrompts(client: Client, signal: AbortSignal): Promise<McpPrompt[]> {
  if (client.getServerCapabilities()?.prompts === undefined) return [];
  const listed = await allPages(async (params) => {
    const request = { method: 'prompts/list' as const, params };
    const page = await client.request(request, ListPromptsResultSchema, { signal, timeout: NO_TIMEOUT });
    return { entries: page.prompts, next: page.nextCursor };
  });
  return listed.map(({ name, title = '', description = '', arguments: given = [] }) => ({
    name,
    title: title.slice(0, MAX_SHORT),
    description: description.slice(0, MAX_SHORT),
    arguments: given.map(({ name, description = '', required = false }) => ({
      name,
      description: description.slice(0, MAX_SHORT),
      required,
    })),
  }));
}

/** The messages of a prompt, filled in with the arguments, as one text with their files. */
export async function promptContent(
  client: Client,
  name: string,
  given: Record<string, string>,
  signal: AbortSignal,
): Promise<McpContent> {
  const { messages } = await client.getPrompt({ name, arguments: given }, { signal, timeout: NO_TIMEOUT });
  return contentOf({ content: messages.map(({ content }) => content) }, '\n\n');
}

/** Resources first, then templates. */
export async function listResources(client: Client, signal: AbortSignal): Promise<McpResource[]> {
  const options = { signal, timeout: NO_TIMEOUT };
  const resources = await allPages(async (params) => {
    const request = { method: 'resources/list' as const, params };
    const page = await client.request(request, ListResourcesResultSchema, options);
    return { entries: page.resources, next: page.nextCursor };
  });
  const templates = await allPages(async (params) => {
    const request = { method: 'resources/templates/list' as const, params };
    const page = await client.request(request, ListResourceTemplatesResultSchema, options);
    return { entries: page.resourceTemplates, next: page.nextCursor };
  }).catch((error: unknown) => {
    // Servers without templates may not know the method.
    if (signal.aborted) throw error;
    return [];
  });
  const found = [
    ...resources,
    ...templates.map(({ uriTemplate, ...rest }) => ({ ...rest, uri: uriTemplate })),
  ];
  return found.map(({ uri, name, description = '', mimeType }) => ({
    uri,
    name,
    description: description.slice(0, MAX_SHORT),
    ...(mimeType !== undefined && { mimeType }),
  }));
}

async function allPages<Entry>(
  read: (params: { cursor?: string }) => Promise<{ entries: Entry[]; next: string | undefined }>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && all.length < MAX_ENTRIES; page += 1) {
    const { entries, next } = await read(cursor === undefined ? {} : { cursor });
    all.push(...entries);
    cursor = next;
    if (cursor === undefined) break;
  }
  return all.slice(0, MAX_ENTRIES);
}
