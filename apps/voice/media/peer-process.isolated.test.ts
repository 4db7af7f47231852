import { execFileSync } from 'node:child_process';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { dial } from './caller.suite.ts';
import { startLines } from './lines.suite.ts';

describe('a crash of the WebRTC library', () => {
  it('ends the calls it carried, and neither the service nor the calls that come next', async () => {
    const { voice, lines, line } = await startLines();
    await dial(voice);
    const first = await line();
    process.kill(hostProcess(), 'SIGSEGV');
    await waitFor(() => first.ended);
    expect(first.ended).toBe('the connection was lost');
    expect(voice.lines.map(({ message }) => message)).toContain('WebRTC process ended; its calls are lost');
    expect((await voice.get('/healthz')).status).toBe(200);
    await dial(voice);
    const second = await waitFor(() => lines[1]);
    await waitFor(() => second.heard.length > 20);
    expect(second.ended).toBeUndefined();
  });
});

describe('the process of the WebRTC library', () => {
  it('sends messages again after a channel was full and has drained', async () => {
    const { voice, line, warnings } = await startLines();
    const caller = await dial(voice);
    const opened = await line();
    await caller.channel();
    const data = 'x'.repeat(32 * 1024);
    const isFull = () => warnings().includes('data channel buffer is full; message dropped');
    await waitFor(() => {
      for (let count = 0; count < 16; count += 1) opened.send({ type: 'fill', data });
      return isFull();
    });
    await waitFor(() => {
      opened.send({ type: 'after' });
      return caller.messages().some(({ type }) => type === 'after');
    });
  });
});

/** The process that holds the connections of this one. */
function hostProcess(): number {
  const rows = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' });
  const row = rows.split('\n').find((text) => text.includes('peer-host'));
  return Number.parseInt(row ?? '', 10);
}
