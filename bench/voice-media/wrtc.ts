/** The WebRTC library, as CommonJS gives it. */
export const { default: wrtc } = (await import('@roamhq/wrtc')) as unknown as {
  default: typeof import('@roamhq/wrtc');
};
