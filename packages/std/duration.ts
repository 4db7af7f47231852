/** A time span for people: "250 ms", "1.5 s", "90 s", "5 minutes", "3 hours". Rounds up, so that a wait is never too short. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.ceil(milliseconds)} ms`;
  const seconds = Math.ceil(milliseconds / 100) / 10;
  if (seconds <= 120) return `${seconds < 10 ? seconds : Math.ceil(seconds)} s`;
  return seconds <= 7200 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3600)} hours`;
}
