import { defineErrors, type RenderError, ValidationError } from '@trunkline/http';

export const voiceErrors = defineErrors({
  unknown_key: [401, 'unknown or missing api key'],
  roster_unusable: [
    401,
    (roster: { reason: string }) =>
      `nobody can call until the roster of users is mended; it is read again every 15 seconds. ${roster.reason}`,
  ],
  operator_only: [401, (access: { reason: string }) => `unknown or missing api key. ${access.reason}`],
  quota_exceeded: [507, ({ refusal }: { refusal: string }) => `${refusal}.`],
  speech_failed: [502, ({ reason }: { reason: string }) => `The speech test failed: ${reason}`],
  admin_required: [403, 'admin role required'],
  skill_not_allowed: [
    403,
    (choice: { slug: string; user: string }) =>
      `skill '${choice.slug}' not in allowed_skills for user '${choice.user}'`,
  ],
});

/** No persona can answer; the message is for the user. */
export class PersonaUnavailableError extends Error {
  override readonly name = 'PersonaUnavailableError';
}

export const renderVoiceError: RenderError = (error) => {
  if (error instanceof ValidationError) return { status: 422, body: { detail: error.issues } };
  if (error.code === 'route_not_found') return { body: { error: 'not found' } };
  return { body: { detail: error.message } };
};
