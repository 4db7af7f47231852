import { defineErrors } from '@trunkline/http';

/** The failures of this service's routes. */
export const researchErrors = defineErrors({
  research_not_found: [404, 'Research not found'],
  plan_not_awaited: [409, 'This research does not wait for a plan.'],
  too_many_jobs: [
    503,
    'Too many research jobs are under way. Try again when some have finished, or cancel one.',
  ],
  conversation_not_found: [404, 'There is no conversation with this id.'],
  file_not_found: [404, 'There is no file with this id.'],
  file_missing: [400, 'The form has no file. Send it as multipart/form-data in a field called "file".'],
  file_type_unknown: [
    415,
    (given: { name: string }) =>
      `"${given.name}" is no file that can be read here. Upload .md, .txt, .html, .pdf or .docx.`,
  ],
  file_unreadable: [422, (given: { name: string; problem: string }) => `"${given.name}" ${given.problem}.`],
});
