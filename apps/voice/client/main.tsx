import { mountPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';
import { KEY_NAME, prepareInstall } from './account.ts';
import { VoicePage } from './VoicePage.tsx';

prepareInstall();
mountPage(<VoicePage />, { keyName: KEY_NAME, scheme: 'api-key', owner: 'the voice service' });
