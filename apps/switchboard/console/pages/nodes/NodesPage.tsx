import {
  Badge,
  type Column,
  countOf,
  ErrorState,
  Lamp,
  Panel,
  RelativeTime,
  stateLamp,
  Table,
  useResource,
} from '@trunkline/ui';
import type { Answer, BusCluster, Cluster, ClusterNode } from '../../../api-types.ts';
import { Loaded } from '../../shared/blocks.tsx';
import { Frame } from '../../shared/sections.tsx';

/** As often as switchboards tell each other that they are there. */
const REFRESH_MS = 2000;

export default function NodesPage() {
  const resource = useResource<Answer<Cluster>>('/api/cluster', { refreshMs: REFRESH_MS });
  return (
    <Frame
      title="Nodes"
      intro="The switchboards that share the work, and the servers that store their messages."
    >
      <Loaded resource={resource} what="The nodes" rows={4}>
        {(cluster) => <Nodes cluster={cluster} />}
      </Loaded>
    </Frame>
  );
}

function Nodes({ cluster }: { cluster: Cluster }) {
  const { nodes, nats, problem, bus, node } = cluster;
  return (
    <>
      {problem !== undefined && (
        <ErrorState
          what="Messages cannot be stored."
          why={problem}
          todo="Start the NATS servers, or correct NATS_URL; the switchboard goes on by itself."
        />
      )}
      <Panel title="Switchboards" flush>
        <Table caption="Switchboards" columns={nodeColumns(node)} rows={nodes} rowId={(each) => each.node} />
      </Panel>
      {nats ? (
        <Servers nats={nats} />
      ) : (
        <Panel title="Servers">
          <p className="text-muted">
            {bus === 'embedded'
              ? 'This switchboard stores its messages itself. Set NATS_URL to run several.'
              : 'NATS does not tell about its servers now.'}
          </p>
        </Panel>
      )}
    </>
  );
}

function nodeColumns(own: string): Column<ClusterNode>[] {
  return [
    {
      id: 'node',
      header: 'Switchboard',
      cell: ({ node }) => (
        <span className="flex flex-wrap items-center gap-2">
          {/* It has none before it has reached its servers. */}
          {node !== '' && <span className="break-all font-mono text-12">{node}</span>}
          {node === own && <Badge>this one</Badge>}
        </span>
      ),
    },
    { id: 'version', header: 'Version', cell: ({ version }) => version },
    { id: 'leads', header: 'Leads', cell: ({ isLeader }) => (isLeader ? 'schedules' : 'nothing') },
    {
      id: 'behind',
      header: 'Behind',
      align: 'right',
      cell: ({ behind, queued }) => behindWords(behind ?? (queued === undefined ? undefined : 0)),
    },
    { id: 'queued', header: 'Queued', align: 'right', cell: ({ queued }) => known(queued) },
    {
      id: 'server',
      header: 'Uses',
      cell: (each) => <span className="break-all">{serverOf(each)}</span>,
    },
    { id: 'since', header: 'Started', cell: ({ startedAt }) => <RelativeTime at={startedAt} /> },
  ];
}

function serverOf({ server, serverVersion, queued }: ClusterNode): string {
  if (server === undefined) return queued === undefined ? 'not known' : 'no server';
  return serverVersion === undefined ? server : `${server} (NATS ${serverVersion})`;
}

interface NatsServer {
  name: string;
  leads: string[];
  /** Copies that follow another server's. */
  follows: number;
  behind: number;
  isCurrent: boolean;
}

export function Servers({ nats }: { nats: BusCluster }) {
  const { name, streams, warning } = nats;
  const leaderless = streams.filter(({ leader, replicas }) => leader === undefined && replicas > 1);
  return (
    <>
      {leaderless.length > 0 && (
        <ErrorState
          what={`No server leads ${leaderless.map((stream) => stream.name).join(', ')}.`}
          why="The servers elect a leader, or too few of them run."
          todo="If this lasts longer than some seconds, start the other servers."
        />
      )}
      {warning !== undefined && (
        <ErrorState
          what="The servers are too old for a cluster."
          why={warning}
          todo="Replace them one after the other; what they store stays."
        />
      )}
      <Panel title="Servers" detail={name === undefined ? 'One NATS server' : `Cluster ${name}`} flush>
        <Table
          caption="Servers"
          columns={SERVER_COLUMNS}
          rows={serversOf(nats)}
          rowId={(each) => each.name}
        />
      </Panel>
      <Panel title="Stored data" flush>
        <Table caption="Stored data" columns={STREAM_COLUMNS} rows={streams} rowId={(each) => each.name} />
      </Panel>
    </>
  );
}

const SERVER_COLUMNS: Column<NatsServer>[] = [
  {
    id: 'name',
    header: 'Server',
    cell: ({ name }) => <span className="break-all font-mono text-12">{name}</span>,
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ isCurrent }) => (
      <Lamp {...(isCurrent ? stateLamp('ok', 'Up to date') : stateLamp('warning', 'Late or silent'))} />
    ),
  },
  { id: 'leads', header: 'Leads', cell: ({ leads }) => (leads.length === 0 ? 'nothing' : leads.join(', ')) },
  { id: 'follows', header: 'Copies', align: 'right', cell: ({ follows }) => countOf(follows) },
  { id: 'behind', header: 'Behind', align: 'right', cell: ({ behind }) => behindWords(behind) },
];

type Stream = BusCluster['streams'][number];

const STREAM_COLUMNS: Column<Stream>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ name }) => <span className="break-all font-mono text-12">{name}</span>,
  },
  {
    id: 'leader',
    header: 'Led by',
    cell: ({ leader, replicas }) => leader ?? (replicas === 1 ? 'its server' : 'none'),
  },
  { id: 'replicas', header: 'Copies', align: 'right', cell: ({ replicas }) => countOf(replicas) },
  { id: 'messages', header: 'Messages', align: 'right', cell: ({ messages }) => countOf(messages) },
];

/** What each server leads, and how far its copies are behind. */
export function serversOf({ streams, server }: Pick<BusCluster, 'streams' | 'server'>): NatsServer[] {
  const servers = new Map<string, NatsServer>();
  const at = (name: string) => {
    const known = servers.get(name) ?? { name, leads: [], follows: 0, behind: 0, isCurrent: true };
    servers.set(name, known);
    return known;
  };
  if (server !== undefined) at(server);
  for (const { name, leader, replicas, peers } of streams) {
    const leading = leader ?? (replicas === 1 ? server : undefined);
    if (leading !== undefined) at(leading).leads.push(name);
    for (const { name: follower, lag, current } of peers) {
      const copy = at(follower);
      copy.follows += 1;
      copy.behind += lag;
      copy.isCurrent &&= current;
    }
  }
  return [...servers.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function behindWords(messages: number | undefined): string {
  if (messages === undefined) return 'not known';
  return messages === 0 ? 'no' : `${countOf(messages)} ${messages === 1 ? 'message' : 'messages'}`;
}

function known(count: number | undefined): string {
  return count === undefined ? 'not known' : countOf(count);
}
