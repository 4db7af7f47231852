import { ClauseSplitter } from './clauses.ts';
import type { SpeechPlayer } from './speech-player.ts';
import { spokenText } from './spoken-text.ts';

/** Says a text that is no answer, clause by clause; tells once whether all of it was heard. */
export function announce(
  player: SpeechPlayer,
  words: string,
  urgent: boolean,
  done: (heard: boolean) => void,
): void {
  const splitter = new ClauseSplitter();
  const clauses = [...splitter.push(spokenText(words)), ...splitter.flush()];
  let open = true;
  const finish = (heard: boolean) => {
    if (open) done(heard);
    open = false;
  };
  const sayings = clauses.map(({ text }, index) => ({
    text,
    heard: () => index === clauses.length - 1 && finish(true),
    cut: () => finish(false),
    failed: () => finish(false),
  }));
  if (urgent) for (const saying of sayings.toReversed()) player.sayNext(saying);
  else for (const saying of sayings) player.say(saying);
}
