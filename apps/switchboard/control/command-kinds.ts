/** Kinds that commands change; schedules have a command of their own. */
export const commandKinds = ['agent', 'a2a', 'mcp', 'route', 'ceremony'] as const;

export type CommandKind = (typeof commandKinds)[number];
