import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface MetricsOptions {
  /** Put before every name, as `<prefix>_<name>`; characters that Prometheus does not take become underscores. */
  prefix: string;
}

/** Seconds, from a cache hit to a slow model call. */
const DEFAULT_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export type Metrics = ReturnType<typeof createMetrics>;

/** One registry of its own, so that several services can live in one process. */
export function createMetrics(options: MetricsOptions) {
  const registry = new Registry();
  const named = (name: string) => `${metricPrefix(options.prefix)}${name}`;
  const base = (name: string, help: string) => ({ name: named(name), help, registers: [registry] });
  const counter = <const Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ) => new Counter({ ...base(name, help), labelNames });
  const gauge = <const Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ ...base(name, help), labelNames });
  const histogram = <const Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    buckets: number[] = DEFAULT_BUCKETS,
  ) => new Histogram({ ...base(name, help), labelNames, buckets });

  return {
    counter,
    gauge,
    histogram,
    /** The text that `/metrics` answers with. */
    render: () => registry.metrics(),
    contentType: registry.contentType,
    http: {
      requestSeconds: histogram('http_request_duration_seconds', 'Time until the answer began.', [
        'method',
        'route',
        'status',
      ]),
      wrongKeys: counter('http_wrong_keys_total', 'Wrong keys, each once a minute and address.'),
      limited: counter('http_limited_requests_total', 'Requests refused with 429, by limit.', ['reason']),
      openStreams: gauge('http_open_streams', 'Event streams being written now.'),
      droppedFrames: counter('http_dropped_frames_total', 'Event frames a slow reader lost.'),
    },
  };
}

function metricPrefix(prefix: string): string {
  const clean = prefix.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=\d)/, '_');
  return clean === '' ? '' : `${clean}_`;
}
