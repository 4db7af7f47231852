type Role = 'user' | 'admin';

/** A person who may call, without the key. */
export interface User {
  id: string;
  displayName: string;
  role: Role;
  /** Slugs the user may choose; null: all. */
  allowedSkills: readonly string[] | null;
  /** Beats the viz of the active skill. */
  pinnedViz: Readonly<Record<string, unknown>> | null;
}

/** Who everyone is while no roster is configured. */
export const defaultUser: User = {
  id: 'default',
  displayName: 'Default',
  role: 'admin',
  allowedSkills: null,
  pinnedViz: null,
};

/** The operator of the installation, where there is a roster that does not name them. */
export const operatorUser: User = { ...defaultUser, id: 'operator', displayName: 'Operator' };
