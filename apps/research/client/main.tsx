import { mountPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';
import { App } from './App.tsx';
import { PAGE } from './settings.ts';

mountPage(<App />, PAGE);
