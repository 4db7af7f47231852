import type { SchemeName } from '../http/credentials-guard.ts';

/** What an agent says about itself. */
export interface AgentDescription {
  name: string;
  description: string;
  version: string;
  /** Under which address others reach the service, without `/a2a`. */
  publicUrl: string;
  provider?: { organization: string; url: string };
  documentationUrl?: string;
  iconUrl?: string;
  /** Media types; default plain text in, Markdown out. */
  inputModes?: readonly string[];
  outputModes?: readonly string[];
  skills: readonly AgentSkill[];
  /** Beside those that the server itself brings. */
  extensions?: readonly AgentExtension[];
}

export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  tags: readonly string[];
  examples?: readonly string[];
  inputModes?: readonly string[];
  outputModes?: readonly string[];
}

export interface AgentExtension {
  uri: string;
  description: string;
  /** Callers who do not declare it are refused. */
  required?: boolean;
  params?: Record<string, unknown>;
}

/** What the server can do and asks for, which no description may contradict. */
export interface ServerFacts {
  pushNotifications: boolean;
  schemes: readonly SchemeName[];
  /** Whether one of the schemes is enough. */
  require: 'all' | 'any';
}

export const defaultInputModes: readonly string[] = ['text/plain'];
export const defaultOutputModes: readonly string[] = ['text/markdown', 'text/plain'];

const ownExtensions: readonly AgentExtension[] = [
  {
    uri: 'urn:trunkline:a2a:hitl-mode-v1',
    description: 'A task may ask its caller a question and wait in input-required for the answer.',
  },
  {
    uri: 'urn:trunkline:a2a:tool-call-v1',
    description: 'Tool calls are streamed as data parts of artifact updates.',
  },
];

export function extensionsOf({ extensions = [] }: AgentDescription): readonly AgentExtension[] {
  return [...ownExtensions, ...extensions];
}
