import type { ServiceLink } from './service.ts';

/** The services of one installation, as they call each other. */
export interface Family {
  /** Opens every member to the others, whatever keys are set besides. */
  secret: string;
  /** The name that the agent goes by in schedules. */
  agentName: string;
  /** A member that runs. */
  find(name: string): ServiceLink | undefined;
  /** The names of members that run and ask their callers for a key. */
  membersWithKey(): string[];
  /** Tells of every member that begins to run. */
  onChange(listener: () => void): void;
}

/** Where the members listen. */
export function familyOrigins(family: Family | undefined): string[] {
  const names = ['voice', 'agent', 'research', 'switchboard'];
  return names.flatMap((name) => family?.find(name)?.url ?? []).map((url) => new URL(url).origin);
}

/** What the members are good for, as their relatives are told. */
export const familyRoles: Readonly<Record<'agent' | 'research' | 'voice', string>> = {
  agent: 'Does longer work with tools: files, memory, schedules, the web.',
  research: 'Searches the web and writes reports whose sources are checked.',
  voice: 'The assistant that people talk with; it answers briefly.',
};
