import { defineErrors, type RenderError, ValidationError } from '@trunkline/http';

export const voiceErrors = defineErrors({
  unknown_key: [401, 'unknown or missing api key'],
  admin_required: [403, 'admin role required'],
  skill_not_allowed: [
    403,
    (choice: { slug: string; user: string }) =>
      `skill '${choice.slug}' not in allowed_skills for user '${choice.user}'`,
  ],
});

/** Failures as callers of this service expect them. */
export const renderVoiceError: RenderError = (error) => {
  if (error instanceof ValidationError) return { status: 422, body: { detail: error.issues } };
  if (error.code === 'route_not_found') return { body: { error: 'not found' } };
  return { body: { detail: error.message } };
};

/** The words of a failure, for bodies that carry them in `error` with status 200. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
