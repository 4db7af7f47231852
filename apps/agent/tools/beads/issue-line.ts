import type { Issue } from '../../stores/beads-store.ts';

export function issueLine({ id, status, priority, issue_type, title }: Issue): string {
  return `${id} [${status}] P${priority} ${issue_type}: ${title}`;
}
