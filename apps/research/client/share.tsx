import { mountPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';
import { PAGE } from './settings.ts';
import { SharedPage } from './share/SharedPage.tsx';

mountPage(<SharedPage />, PAGE);
