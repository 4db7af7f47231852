/** Where the caller's key is kept in the browser. */
export const KEY_NAME = 'trunkline.voice.key';
