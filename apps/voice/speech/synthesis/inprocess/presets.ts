/** The voices of the Kokoro model, by the letter of their language. */
const names: Record<string, readonly string[]> = {
  a: [
    'af_heart af_bella af_nicole af_sarah af_alloy af_aoede af_jessica af_kore af_nova af_river af_sky',
    'am_adam am_michael am_echo am_eric am_fenrir am_liam am_onyx am_puck am_santa',
  ],
  b: ['bf_emma bf_isabella bf_alice bf_lily bm_george bm_lewis bm_daniel bm_fable'],
  e: ['ef_dora em_alex em_santa'],
  f: ['ff_siwis'],
  h: ['hf_alpha hf_beta hm_omega hm_psi'],
  i: ['if_sara im_nicola'],
  j: ['jf_alpha jf_gongitsune jf_nezumi jf_tebukuro jm_kumo'],
  p: ['pf_dora pm_alex pm_santa'],
  z: ['zf_xiaobei zf_xiaoni zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang'],
};

export const presets: readonly string[] = Object.values(names)
  .flat()
  .flatMap((line) => line.split(' '));

export const defaultPreset = 'af_heart';

export const languageLetters = ['a', 'b', 'e', 'f', 'h', 'i', 'j', 'p', 'z'] as const;

/** Languages by their letter. */
export const languages: Readonly<Record<string, string>> = {
  a: 'American English',
  b: 'British English',
  e: 'Spanish',
  f: 'French',
  h: 'Hindi',
  i: 'Italian',
  j: 'Japanese',
  p: 'Portuguese',
  z: 'Chinese',
};
