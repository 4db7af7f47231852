/** Something that would make a service do more, the variable that brings it, and what to do. */
export interface Missing {
  what: string;
  variable: string;
  hint: string;
}

/** What every service lacks on a fresh machine: a real model. */
export function missingModel({ demo }: { demo: boolean }): Missing[] {
  if (!demo) return [];
  const hint = 'The offline demo model answers until you set one.';
  return [{ what: 'Model', variable: 'LLM_GATEWAY_URL', hint }];
}
