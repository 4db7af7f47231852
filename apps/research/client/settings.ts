/** The key that the page asks for, and where it is stored. */
export const pageSettings = {
  keyName: 'trunkline.research.key',
  scheme: 'bearer',
  owner: 'the research service',
} as const;
