import { mountPage } from '../../src/shell/mountPage.tsx';
import '../../src/styles.css';
import { SetupPage } from './SetupPage.tsx';

// Everything here is for the operator, who signs in: a key of the service is never asked for.
mountPage(<SetupPage />, { keyName: 'trunkline.setup.key', scheme: 'bearer', owner: 'this service' });
