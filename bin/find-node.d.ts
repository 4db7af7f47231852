export const NODE_FLAGS: readonly string[];
export function findNode(root: string, path: string): string | undefined;
export function isRecent(version: string): boolean;
