/** Whom texts may call: people by name, never everyone, nor a role. */
export const allowedMentions = { parse: ['users'] as const };
