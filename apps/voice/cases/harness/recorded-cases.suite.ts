import { loadCases } from './case.suite.ts';
import { hasLocalVoices, openLocalVoices } from './local-voices.suite.ts';
import { humanRecordings } from './recordings.suite.ts';
import { problemsOf, runCase } from './run.suite.ts';

/** Plays the cases with recordings of people, or those whose name holds one of the words; returns how many failed. */
export async function playRecordedCases(
  names: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const cases = loadCases().filter(
    ({ name, test }) =>
      test.voices === 'recorded' && (names.length === 0 || names.some((word) => name.includes(word))),
  );
  if (cases.length === 0) return 0;
  if (!(await hasLocalVoices())) {
    print(`${cases.length} cases with recordings left out: the speech models are not installed`);
    return 0;
  }
  const recordings = await humanRecordings(['readings']);
  if (recordings === undefined) {
    print(`${cases.length} cases with recordings left out: "apt-get download pocketsphinx-testdata" failed`);
    return 0;
  }
  const sounds = new Map(recordings.map(({ name, samples }) => [name.slice(-4), samples]));
  const voices = await openLocalVoices(undefined, sounds);
  let failed = 0;
  try {
    for (const { name, test } of cases) {
      const problems = problemsOf(test, await runCase(test, () => voices.open()));
      failed += problems.length > 0 ? 1 : 0;
      print(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${name}: ${test.about}`);
      for (const problem of problems) print(problem);
    }
  } finally {
    await voices.close();
  }
  return failed;
}
