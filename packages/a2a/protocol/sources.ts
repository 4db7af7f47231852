import { z } from 'zod';
import type { Part } from './model.ts';

/** How the list of pages that an answer is drawn from is marked on the wire. */
export const citationsMediaType = 'application/vnd.trunkline.citations-v1+json';

const listed = z.object({
  citations: z.array(z.object({ url: z.string(), title: z.string().optional() })),
});

/** The pages that an answer is drawn from, for where only text goes; empty without any. */
export function sourceLines(pages: readonly { url: string; title?: string | undefined }[]): string {
  const titles = new Map(pages.map(({ url, title }) => [url, title]));
  const lines = [...titles].map(([url, title], index) => `[${index + 1}] ${title ? `${title}: ` : ''}${url}`);
  return lines.length === 0 ? '' : ['Sources:', ...lines].join('\n');
}

/** The same, as the parts of an answer list them. */
export function sourcesIn(parts: readonly Part[]): string {
  return sourceLines(
    parts.flatMap((part) =>
      part.type === 'data' && part.metadata?.mimeType === citationsMediaType
        ? (listed.safeParse(part.data).data?.citations ?? [])
        : [],
    ),
  );
}
