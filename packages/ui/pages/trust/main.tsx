import { mountPage } from '../../src/shell/mountPage.tsx';
import '../../src/styles.css';
import { TrustPage } from './TrustPage.tsx';

// Everything here is for the operator, who signs in: a key of the service is never asked for.
mountPage(<TrustPage />, { keyName: 'trunkline.trust.key', scheme: 'bearer', owner: 'this service' });
