import { oneLine } from '@trunkline/tools';

const LONGEST = 2000;

/** `[<domain>] <heading>: <text>`; without a heading there is no colon either. */
export function chunkLine({
  domain,
  heading,
  content,
}: {
  domain: string;
  heading: string;
  content: string;
}): string {
  const text = oneLine(content, LONGEST);
  return heading === '' ? `[${domain}] ${text}` : `[${domain}] ${heading}: ${text}`;
}
