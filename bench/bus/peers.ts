import { createRequire } from 'node:module';
import { TopicIndex } from '@trunkline/bus';

const require = createRequire(import.meta.url);

export type Handler = () => void;

/** One library with patterns and handlers in it: how many match a topic and, if it is more than an index, their calls. */
export interface Contestant {
  add(pattern: string, handler: Handler): void;
  count(topic: string): number;
  deliver?(topic: string, payload: object): void;
}

interface Qlobber {
  add(pattern: string, handler: Handler): void;
  match(topic: string): Handler[];
}

export const contestants: Record<string, () => Contestant> = {
  ours() {
    const index = new TopicIndex<Handler>();
    return {
      add: (pattern, handler) => index.add(pattern, handler),
      count: (topic) => index.match(topic).length,
    };
  },
  qlobber: () => qlobber({}),
  'qlobber with its cache of splits': () => qlobber({ cache_splits: 10_000 }),
  mqemitter() {
    const create = require('mqemitter') as (options: object) => {
      on(topic: string, listener: (message: object, done: () => void) => void): void;
      emit(message: { topic: string; payload: object }): void;
      _matcher: Qlobber;
    };
    const emitter = create({ separator: '.', wildcardOne: '*', wildcardSome: '#', matchEmptyLevels: false });
    return {
      add: (pattern, handler) =>
        emitter.on(pattern, (_, done) => {
          handler();
          done();
        }),
      count: (topic) => emitter._matcher.match(topic).length,
      deliver: (topic, payload) => emitter.emit({ topic, payload }),
    };
  },
  eventemitter2() {
    const { EventEmitter2 } = require('eventemitter2') as typeof import('eventemitter2');
    const emitter = new EventEmitter2({ wildcard: true, delimiter: '.', maxListeners: 0 });
    return {
      add: (pattern, handler) => void emitter.on(pattern.replace('#', '**'), handler),
      count: (topic) => emitter.listeners(topic).length,
      deliver: (topic, payload) => void emitter.emit(topic, { topic, payload }),
    };
  },
};

function qlobber(options: object): Contestant {
  const { Qlobber } = require('qlobber') as { Qlobber: new (options: object) => Qlobber };
  const matcher = new Qlobber(options);
  return {
    add: (pattern, handler) => matcher.add(pattern, handler),
    count: (topic) => matcher.match(topic).length,
  };
}
