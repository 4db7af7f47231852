import { MarkdownView } from '@trunkline/ui';
import { type RefObject, useEffect, useMemo, useRef } from 'react';
import type { CitedSource, Claim } from '../../api-types.ts';
import { CitationCard } from './CitationCard.tsx';
import { labelOf, linkMarks, targetOf } from './marks.ts';
import { useCitationCard } from './useCitationCard.ts';

interface CitedTextProps {
  text: string;
  claims: readonly Claim[];
  sources: readonly CitedSource[];
  streaming?: boolean;
}

const LOOK = [
  '[&_a[href^="#claim"]]:rounded-small [&_a[href^="#claim"]]:bg-live-wash [&_a[href^="#claim"]]:text-live-text',
  '[&_a[href^="#doubt"]]:rounded-small [&_a[href^="#doubt"]]:bg-failed-wash [&_a[href^="#doubt"]]:text-failed-text',
  '[&_a[href^="#source"]]:rounded-small [&_a[href^="#source"]]:bg-accent-wash',
  '[&_a[href^="#"]]:ml-0.5 [&_a[href^="#"]]:px-1 [&_a[href^="#"]]:py-0.5 [&_a[href^="#"]]:font-mono [&_a[href^="#"]]:text-12 [&_a[href^="#"]]:no-underline [&_a[href^="#"]]:whitespace-nowrap',
].join(' ');

/** Markdown whose citations show what they were checked against when hovered, focused or tapped. */
export function CitedText({ text, claims, sources, streaming = false }: CitedTextProps) {
  const root = useRef<HTMLDivElement>(null);
  const card = useCitationCard(root);
  const linked = useMemo(() => linkMarks(text, claims), [text, claims]);
  useLabels(root, linked, claims, sources);
  const { link } = card;
  const target = link === null ? undefined : targetOf(link.getAttribute('href') ?? '', claims, sources);
  return (
    <div ref={root} className={LOOK}>
      <MarkdownView text={linked} streaming={streaming} />
      {link !== null && target !== undefined && <CitationCard target={target} state={card} link={link} />}
    </div>
  );
}

/** A number alone says little when it is read aloud. */
function useLabels(
  root: RefObject<HTMLElement | null>,
  linked: string,
  claims: readonly Claim[],
  sources: readonly CitedSource[],
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the links change with the text
  useEffect(() => {
    for (const link of root.current?.querySelectorAll('a[href^="#"]') ?? []) {
      const target = targetOf(link.getAttribute('href') ?? '', claims, sources);
      if (target !== undefined) link.setAttribute('aria-label', labelOf(target));
    }
  }, [root, linked, claims, sources]);
}
