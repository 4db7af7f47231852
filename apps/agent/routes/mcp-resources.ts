import type { Principal } from '@trunkline/identity';
import type { ServedResources } from '@trunkline/mcp';
import type { Owners } from '../owners.ts';
import type { KnowledgeStore } from '../stores/knowledge/knowledge-store.ts';
import type { NotesStore } from '../stores/notes/notes-store.ts';

export interface AgentResourceDeps {
  notes: NotesStore | undefined;
  /** Undefined while memory is off. */
  knowledge(): KnowledgeStore | undefined;
  owners: Owners;
}

const MAX_MEMORIES = 200;
const NAME_LENGTH = 80;
const markdown = 'text/markdown';

/** Notes and memories for MCP clients, to each caller their own. */
export function agentResources({ notes, knowledge, owners }: AgentResourceDeps): ServedResources {
  const notesOf = (principal: Principal) => notes?.for(owners.actor(principal));
  const scopeOf = (principal: Principal) => owners.memory({ principal, sessionId: '' });
  return {
    list(principal) {
      const tabs = (notesOf(principal)?.tabs() ?? []).filter(({ permissions }) => permissions.agentRead);
      const memories = knowledge()?.list(MAX_MEMORIES, undefined, scopeOf(principal)) ?? [];
      return [
        ...tabs.map(({ name }) => ({
          uri: `notes://${encodeURIComponent(name)}`,
          name: `Notes: ${name}`,
          mimeType: markdown,
        })),
        ...memories.map(({ id, domain, heading, content }) => ({
          uri: `memory://${id}`,
          name: `Memory: ${(heading || content).slice(0, NAME_LENGTH)}`,
          description: `Of the domain ${domain}.`,
          mimeType: markdown,
        })),
      ];
    },
    read(uri, principal) {
      const { protocol, hostname, pathname } = URL.parse(uri) ?? {};
      const rest = decoded(`${hostname ?? ''}${pathname ?? ''}`);
      if (protocol === 'notes:') {
        const name = decoded(uri.slice('notes://'.length));
        const tab = notesOf(principal)
          ?.tabs()
          .find((each) => each.name === name && each.permissions.agentRead);
        return tab && { text: tab.content, mimeType: markdown };
      }
      if (protocol !== 'memory:' || !/^\d+$/.test(rest)) return undefined;
      const found = knowledge()?.get(Number(rest));
      if (found?.scope !== scopeOf(principal)) return undefined;
      return { text: found.content, mimeType: markdown };
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No address of ours.
    return '';
  }
}
