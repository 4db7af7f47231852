import { mountPage, StatusPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';

const LABELS = {
  stt_backend: 'Speech to text',
  tts_backend: 'Text to speech',
  active_sessions: 'Calls now',
  skills: 'Skills',
  delegates: 'Delegates',
  user_count: 'Users',
  auth_source: 'Keys come from',
};

mountPage(<StatusPage service="voice" labels={LABELS} />, {
  keyName: 'trunkline.voice.key',
  scheme: 'api-key',
  owner: 'the voice service',
});
