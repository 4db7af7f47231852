import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { freePort, post } from './processes.ts';

/** Node-RED with the smallest flow: http in, function, http response. */
export const nodeRed: Peer = {
  name: 'Node-RED',
  id: 'node-red',
  kind: 'bus',
  package: 'node-red',
  folder: '.',
  needs: [],
  install: 'npm only',
  durability: 'nothing is kept',
  unfair:
    'to everybody else: the handler runs in the process that takes the request, and nothing leaves memory',
  async start({ processes, home }) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const flows = [
      { id: 'tab', type: 'tab', label: 'bench' },
      { id: 'in', z: 'tab', type: 'http in', url: '/work', method: 'post', wires: [['do']] },
      {
        id: 'do',
        z: 'tab',
        type: 'function',
        func: 'msg.payload = { text: msg.payload.text }; return msg;',
        outputs: 1,
        wires: [['out']],
      },
      { id: 'out', z: 'tab', type: 'http response', wires: [] },
    ];
    writeFileSync(join(home, 'flows.json'), JSON.stringify(flows));
    const settings = {
      uiHost: '127.0.0.1',
      uiPort: port,
      flowFile: 'flows.json',
      telemetry: { enabled: false, updateNotification: false },
    };
    writeFileSync(join(home, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
    const program = join(import.meta.dirname, 'node_modules/node-red/red.js');
    const args = [program, '--userDir', home, '--settings', join(home, 'settings.js')];
    await processes.launch(process.execPath, args, { ready: /(Started flows)/ });
    return {
      async work() {
        const { text } = (await post(`${url}/work`, { text: 'ping' })) as { text: string };
        if (text !== 'ping') throw new Error(`Node-RED answered ${text}.`);
        return text;
      },
    };
  },
};
