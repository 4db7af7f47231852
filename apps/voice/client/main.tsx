import { mountPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';
import { prepareInstall } from './install.ts';
import { KEY_NAME } from './keyName.ts';
import { VoicePage } from './VoicePage.tsx';

prepareInstall();
mountPage(<VoicePage />, { keyName: KEY_NAME, scheme: 'api-key', owner: 'the voice service' });
