/** The kinds of the media lines of a session description: audio, video, application. */
export function mediaKinds(sdp: string): string[] {
  return [...sdp.matchAll(/^m=(\w+) /gm)].map(([, kind]) => kind ?? '');
}

/** Whether a description names a way to reach its side. */
export function hasCandidates(sdp: string): boolean {
  return /^a=candidate:/m.test(sdp);
}
