/** What the service and a plugin's process say to each other. */
export type ToPlugin =
  | { type: 'call'; id: number; tool: string; input: unknown }
  | { type: 'fetch-end'; id: number; response?: FetchedResponse; error?: string };

export type FromPlugin =
  | { type: 'ready'; tools: PluginToolHead[] }
  | { type: 'failed'; error: string }
  | { type: 'call-end'; id: number; text?: string; error?: string }
  | {
      type: 'fetch-start';
      id: number;
      url: string;
      request: { method?: string; headers?: Record<string, string>; body?: string };
    };

export interface PluginToolHead {
  name: string;
  description: string;
  parameters: object;
}

export interface FetchedResponse {
  status: number;
  contentType: string;
  text: string;
}
