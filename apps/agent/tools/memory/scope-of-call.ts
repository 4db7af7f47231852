import type { ToolContext } from '@trunkline/llm';

/** Whose memories a call uses; those of its conversation alone where nobody has said. */
export function scopeOfCall({ scope, sessionId }: ToolContext): string {
  return scope ?? `context:${sessionId}`;
}
