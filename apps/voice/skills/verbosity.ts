export const verbosityLevels = ['silent', 'brief', 'narrated', 'chatty'] as const;

/** How much is said around an answer. */
export type Verbosity = (typeof verbosityLevels)[number];

const manners: Record<Verbosity, { preamble: string; reply: string }> = {
  silent: { preamble: 'Say nothing before you use a tool.', reply: '10 to 15 words' },
  brief: { preamble: 'Before you use a tool, say two to four words.', reply: '12 to 18 words' },
  narrated: {
    preamble: 'Before you use a tool, say in four to eight words what you do.',
    reply: '18 to 25 words',
  },
  chatty: {
    preamble: 'Before you use a tool, say in up to twelve words what you do.',
    reply: '25 to 40 words',
  },
};

export function isVerbosity(level: string | undefined): level is Verbosity {
  return verbosityLevels.some((known) => known === level);
}

/** How the persona is told to keep its answers. */
export function verbosityInstructions(level: Verbosity): string {
  const { preamble, reply } = manners[level];
  return `${preamble} Keep a reply to about ${reply}, unless you are asked for more.`;
}
