import { defineErrors } from '@trunkline/http';

/** The failures of this service's routes. */
export const researchErrors = defineErrors({
  research_not_found: [404, 'Research not found'],
  plan_not_awaited: [409, 'This research does not wait for a plan.'],
  too_many_jobs: [
    503,
    'Too many research jobs are under way. Try again when some have finished, or cancel one.',
  ],
  too_many_own_jobs: [
    429,
    ({ most }: { most: number }) =>
      `${most} research jobs of yours are under way, which is as many as one caller may have at once. Wait until some have finished, or cancel one.`,
  ],
  budget_spent: [
    429,
    (given: { spent: string }) =>
      `The research stopped because ${given.spent}. Resume it later, or ask the operator to raise the budget.`,
  ],
  research_running: [409, 'This research is still under way. Stop it, or wait until it is over.'],
  report_not_ready: [409, 'This research has no report yet.'],
  share_not_found: [404, 'This report is not shared, or no longer.'],
  topic_unusable: [400, 'Give the topic as text of 2 to 2000 characters.'],
  model_failed: [502, (given: { words: string }) => given.words],
  format_unavailable: [501, (given: { words: string }) => given.words],
  conversation_not_found: [404, 'There is no conversation with this id.'],
  file_not_found: [404, 'There is no file with this id.'],
  entry_not_found: [
    404,
    'There is no such entry, or the work is not installed (npm install without --omit=optional).',
  ],
  file_missing: [400, 'The form has no file. Send it as multipart/form-data in a field called "file".'],
  file_type_unknown: [
    415,
    (given: { name: string }) =>
      `"${given.name}" is no file that can be read here. Upload .md, .txt, .html, .pdf, .docx, .odt, .epub, .xlsx, .ods, .csv, .tsv or a picture of text (.png, .jpg, .webp).`,
  ],
  quota_exceeded: [507, (given: { refusal: string }) => `${given.refusal}.`],
  file_unreadable: [422, (given: { name: string; problem: string }) => `"${given.name}" ${given.problem}.`],
});
