/** Whether a topic fits a pattern: `*` stands for one part, `#` for all that follow. */
export function fitsPattern(pattern: string, topic: string): boolean {
  return fits(pattern.split('.'), topic.split('.'));
}

function fits([wanted, ...restWanted]: string[], [given, ...restGiven]: string[]): boolean {
  if (wanted === undefined) return given === undefined;
  if (wanted === '#') return true;
  if (given === undefined || (wanted !== '*' && wanted !== given)) return false;
  return fits(restWanted, restGiven);
}
