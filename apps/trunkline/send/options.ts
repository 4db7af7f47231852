import { defineOptions, homeOptions, integer, text, url } from '@trunkline/config';
import { portOptions } from '../ports.ts';

export const sendOptions = defineOptions(
  'send',
  'Send: a message to the switchboard from this terminal; without a text, line by line',
  {
    switchboardUrl: url({
      env: 'SWITCHBOARD_URL',
      flag: '--url',
      doc: 'Where the switchboard is.',
      defaultDoc: 'this machine, at SWITCHBOARD_PORT',
    }),
    switchboardPort: portOptions.switchboardPort,
    trunklineHome: homeOptions.trunklineHome,
    apiKey: text({ env: 'SWITCHBOARD_API_KEY', secret: true, doc: 'Key of the switchboard.' }),
    skill: text({
      flag: '--skill',
      doc: 'The skill that is asked for.',
      defaultDoc: 'as the router decides',
    }),
    timeoutS: integer({ flag: '--timeout', default: 600, min: 1, doc: 'Seconds to wait for an answer.' }),
  },
);
