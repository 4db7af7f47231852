/** A project of the organisation, as the project registry tells of it. */
export interface Project {
  id: string;
  name: string;
  slug: string;
  /** Where it lies in the file system. */
  path: string;
  github?: { owner: string; repo: string };
  defaultBranch: string;
}

/** The projects as they are known now. */
export interface ProjectDirectory {
  list(): readonly Project[];
}
