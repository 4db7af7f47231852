import { A2aError } from '../errors/a2a-error.ts';
import type { Artifact, Part, Task, TaskEvent } from './model.ts';

/** Refuses a message that declares a type which the card does not list. Text is always taken. */
export function requireAccepted(mediaTypes: readonly string[], modes: readonly string[]): void {
  const refused = mediaTypes.find((type) => !isListed(type, modes));
  if (refused === undefined) return;
  const words = `Incompatible content types: ${refused.slice(0, 100)} is not supported; send ${modes.join(', ')}`;
  throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', words);
}

function isListed(type: string, modes: readonly string[]): boolean {
  return plainType(type) === 'text/plain' || isAccepted(type, modes);
}

/** Refuses a caller that takes none of the types in which the agent answers. */
export function requireCommonMode(accepted: readonly string[], modes: readonly string[]): void {
  const offered = ['text/plain', ...modes];
  if (accepted.length === 0 || offered.some((mode) => isAccepted(mode, accepted))) return;
  const words = `Incompatible content types: this agent answers with ${[...new Set(offered)].join(', ')}; list one of them in acceptedOutputModes`;
  throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', words);
}

/** What a caller does not take is left out of its answers; plain text and data of no declared type are for everybody. */
export class OutputFilter {
  readonly #accepted: readonly string[];

  constructor(accepted: readonly string[]) {
    this.#accepted = accepted;
  }

  task(task: Task): Task {
    return { ...task, artifacts: task.artifacts.filter((artifact) => this.#takes(artifact)) };
  }

  event(event: TaskEvent): boolean {
    return event.type !== 'artifact' || this.#takes(event.artifact);
  }

  #takes({ parts }: Artifact): boolean {
    return parts.some((part) => {
      const type = declaredType(part);
      return type === undefined || isAccepted(type, this.#accepted);
    });
  }
}

/** The frames that we make ourselves name their type in the metadata. */
function declaredType({ mediaType, metadata }: Part): string | undefined {
  const type = mediaType ?? metadata?.mimeType;
  return typeof type === 'string' ? type : undefined;
}

function isAccepted(type: string, modes: readonly string[]): boolean {
  return modes.some((mode) => matches(plainType(type), plainType(mode)));
}

/** `image/*`, `*` and the informal `text` stand for a family. */
function matches(type: string, mode: string): boolean {
  if (mode === '*' || mode === '*/*' || mode === type) return true;
  const [family = '', kind] = mode.split('/');
  return (kind === undefined || kind === '*') && type.startsWith(`${family}/`);
}

function plainType(type: string): string {
  return (type.split(';')[0] ?? '').trim().toLowerCase();
}
