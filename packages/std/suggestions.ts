/**
 * What pages, guides and the demo model suggest to say. Each is said to the real services by
 * apps/trunkline/demo/suggestions.test.ts, which checks what comes of it.
 */
export const suggestions = {
  time: 'What time is it in Tokyo?',
  sum: 'What is 15% of 80?',
  capital: 'What is the capital of Peru?',
  word: 'What does serendipity mean?',
  compare: 'Compare the population of Japan and Germany',
  remember: 'Remember that my door code is 4711',
  recall: 'What is my door code?',
  memories: 'List your memories',
  log: 'Log: fixed the printer',
  note: 'Add buy milk to my Shopping notes',
  readNote: 'What is on my Shopping list?',
  reminder: 'Remind me in one minute to stretch',
  schedules: 'List my schedules',
  cancel: 'Cancel my reminder to stretch',
  task: 'Create a task: water the plants',
  inbox: 'Check my inbox',
  today: 'What is on today?',
  goal: 'Set a goal: all tests pass',
  goOn: 'Go on until the file report.md has a summary',
  form: 'Show me a form for name and city',
  askMe: 'Ask me which colour I like',
  clarify: 'Book a table',
  research: 'Ask research to compare heat pumps',
  search: 'Search the web for tidal power',
  outage: 'Is there an outage?',
  tool: 'Use tool calculator with {"expression": "6 * 7"}',
} as const;

/** Questions that every service answers by itself, offline. */
export const offlineSuggestions = [suggestions.capital, suggestions.word, suggestions.compare] as const;

export type Suggestion = keyof typeof suggestions;
