import { SpeechError } from '../../speech-error.ts';
import { once, serveWork } from '../../worker/serve.ts';

/** Fewer words than this do not tell a language: "okay" and "no" belong to many. */
const fewestWords = 3;
const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/** The smallest of its models; it takes a quarter of a second to load, so it has a thread of its own. */
const detector = once(async () => {
  try {
    return (await import('eld/extrasmall')).eld;
  } catch (cause) {
    const message =
      'the package eld is not installed: run "npm ci" without --omit=optional, or set STT_LANGUAGE';
    throw new SpeechError('missing', message, { cause });
  }
});

serveWork(async (text: string): Promise<string | undefined> => {
  const eld = await detector();
  if ([...words.segment(text)].filter(({ isWordLike }) => isWordLike).length < fewestWords) return undefined;
  const result = eld.detect(text);
  return result.isReliable() ? result.language : undefined;
});
