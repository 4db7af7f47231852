const pending = new Map<string, string>();

/** Keeps the first question of a conversation until its page asks it. */
export function putPending(id: string, question: string): void {
  pending.set(id, question);
}

export function takePending(id: string): string | undefined {
  const question = pending.get(id);
  pending.delete(id);
  return question;
}
