import { defineErrors } from '@trunkline/http';

export const mediaErrors = defineErrors({
  bad_offer: [400, (offer: { reason: string }) => `The offer cannot be used: ${offer.reason}`],
  bad_candidate: [400, (candidate: { reason: string }) => `A candidate cannot be used: ${candidate.reason}`],
  connection_unknown: [404, 'Peer connection not found'],
  lines_busy: [
    503,
    (limit: { calls: number }) =>
      `All ${limit.calls} lines are in use. Try again later, or raise MAX_CALLS on the server.`,
  ],
  machine_busy: [
    503,
    (load: { capacity: number }) =>
      `This machine serves at most ${load.capacity} callers well, by the work that calls have taken so far, and so many are connected. Try again later, or raise MAX_SPEECH_LOAD on the server.`,
  ],
  lines_of_one: [
    503,
    (limit: { calls: number }) =>
      `You have ${limit.calls} calls, and one caller may have no more at once, so that others get a line too. End one of them.`,
  ],
  webrtc_ended: [503, 'The process that carries calls has ended, and starts again. Try again.'],
  line_kept: [503, 'A line is free, and kept for somebody who waits for it. Try again later.'],
  webrtc_missing: [
    503,
    (failure: { reason: string }) =>
      `Calls need the package @roamhq/wrtc, which did not load (${failure.reason}). Run "npm ci", or "npm install @roamhq/wrtc", and start the service again.`,
  ],
});
