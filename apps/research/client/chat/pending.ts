const keyOf = (id: string) => `trunkline.research.pending.${id}`;

/** Keeps the first question of a conversation until its page asks it, also when the page is loaded again before. */
export function putPending(id: string, question: string): void {
  sessionStorage.setItem(keyOf(id), question);
}

export function takePending(id: string): string | undefined {
  const question = sessionStorage.getItem(keyOf(id)) ?? undefined;
  sessionStorage.removeItem(keyOf(id));
  return question;
}
