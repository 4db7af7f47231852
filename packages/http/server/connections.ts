import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Connections {
  /** Closes idle connections now and busy ones after their answer. */
  closeWhenIdle(): void;
  destroyAll(): void;
}

/** Knows which connections carry a request; Node itself does not count those that never sent one as idle. */
export function trackConnections(server: Server): Connections {
  const busy = new Map<Socket, Set<ServerResponse>>();
  let stopping = false;
  server.on('connection', (socket) => {
    busy.set(socket, new Set());
    socket.once('close', () => busy.delete(socket));
  });
  server.on('request', (request, response) => {
    const responses = busy.get(request.socket);
    responses?.add(response);
    if (stopping) response.shouldKeepAlive = false;
    response.once('close', () => {
      responses?.delete(response);
      if (stopping && responses?.size === 0) request.socket.destroySoon();
    });
  });
  return {
    closeWhenIdle() {
      stopping = true;
      for (const [socket, responses] of busy) {
        for (const response of responses) response.shouldKeepAlive = false;
        if (responses.size === 0) socket.destroy();
      }
    },
    destroyAll() {
      for (const socket of busy.keys()) socket.destroy();
    },
  };
}
