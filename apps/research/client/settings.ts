/** Whose key the page asks for, and where it keeps it. */
export const PAGE = {
  keyName: 'trunkline.research.key',
  scheme: 'bearer',
  owner: 'the research service',
} as const;
