export { start } from './app.ts';
export { voiceExposures } from './exposure.ts';
export { main } from './main.ts';
export { diagnoseCalls } from './media/diagnose.ts';
export { diagnoseIceServers } from './media/ice-servers.ts';
export { type VoiceOptions, voiceOptions } from './options.ts';
export { directSpeech } from './routes/setup.ts';
export { diagnoseSpeech } from './speech/diagnose.ts';
