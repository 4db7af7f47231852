import { mountPage, StatusPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';

mountPage(<StatusPage service="switchboard" labels={{}} />, {
  keyName: 'trunkline.switchboard.key',
  scheme: 'api-key',
  owner: 'the switchboard',
});
