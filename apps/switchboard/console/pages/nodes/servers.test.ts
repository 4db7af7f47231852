import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { Servers, serversOf } from './NodesPage.tsx';

const stream = { replicas: 3, messages: 5, bytes: 100 };

it('shows what each server leads and how far its copies are behind', () => {
  const peer = (name: string, lag = 0) => ({ name, lag, current: lag === 0, silentMs: 10 });
  const streams = [
    { ...stream, name: 'journal', leader: 'n2', peers: [peer('n1'), peer('n3', 7)] },
    { ...stream, name: 'lease', leader: 'n1', peers: [peer('n2'), peer('n3', 2)] },
    { ...stream, name: 'memory', peers: [] },
  ];
  expect(serversOf({ server: 'n1', streams })).toEqual([
    { name: 'n1', leads: ['lease'], follows: 1, behind: 0, isCurrent: true },
    { name: 'n2', leads: ['journal'], follows: 1, behind: 0, isCurrent: true },
    { name: 'n3', leads: [], follows: 2, behind: 9, isCurrent: false },
  ]);
});

it('leaves all to a server of its own', () => {
  const streams = [{ ...stream, name: 'journal', replicas: 1, peers: [] }];
  expect(serversOf({ server: 'n1', streams })).toEqual([
    { name: 'n1', leads: ['journal'], follows: 0, behind: 0, isCurrent: true },
  ]);
});

it('warns of servers that are too old for a cluster', () => {
  const warning = 'NATS 2.9.10 in a cluster can lose messages.';
  const html = (more: { warning?: string }) =>
    renderToStaticMarkup(createElement(Servers, { nats: { name: 'c', server: 'n1', streams: [], ...more } }));
  expect(html({ warning })).toMatch(/The servers are too old for a cluster\..*NATS 2\.9\.10 in a cluster/s);
  expect(html({})).not.toContain('too old');
});
