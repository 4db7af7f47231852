import { researchErrors } from '../errors.ts';
import type { Job } from '../research/job.ts';
import type { JobStore } from '../store/jobs.ts';

/** Finds a job by the id of a request, or answers 404. */
export function jobFinder(jobs: JobStore): (id: string) => Job {
  return (id) => {
    const job = jobs.get(id);
    if (job === undefined) throw researchErrors.research_not_found();
    return job;
  };
}
