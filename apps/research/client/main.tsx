import { mountPage, StatusPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';

mountPage(<StatusPage service="research" labels={{}} />, {
  keyName: 'trunkline.research.key',
  scheme: 'bearer',
  owner: 'the research service',
});
