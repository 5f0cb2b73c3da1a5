import type { Lane } from '../core/pipeline.ts'

/**
 * Every key name of the product. Keys with the same hash tag share a slot, so one script may use them together, on Redis
 * Cluster too: `{pN}` for all that belongs to partition N.
 */

const partition = (n: number) => `{p${n}}`

export const keys = {
  /** String: the number of partitions, written at the first start. */
  partitions: () => 'ipid:partitions',

  /** Stream of blocks. The intake has the short names. */
  stream: (n: number, stream: string, lane: Lane) =>
    stream === 'intake' ? `${partition(n)}:${lane}` : `${partition(n)}:${stream}${lane === 'live' ? '' : `:${lane}`}`,
  /** String: the last sequence number that a producer wrote. */
  producer: (n: number, producer: string) => `${partition(n)}:producer:${producer}`,
  /** Hash: what was added and finished, in entries and events, per stream, group and reason. */
  counters: (n: number) => `${partition(n)}:counters`,
  /** Prefix of the hashes that hold the identities seen in one generation; the bucket number follows. */
  seen: (n: number, generation: number) => `${partition(n)}:seen:${generation}:`,
  /** Stream of dead letters. */
  dead: (n: number) => `${partition(n)}:dead`,

  /** String: the owner of a lease, with its fencing token; expires. */
  lease: (name: string) => `{lease:${name}}:owner`,
  /** String: counts the owners a lease ever had; its value at taking is the fencing token. */
  leaseToken: (name: string) => `{lease:${name}}:token`,
  /** String: the ranges that a sink is about to insert, as JSON. */
  sinkIntent: (name: string) => `{lease:${name}}:intent`,
}

/** Fields of the counters hash. What was added to a stream, minus what a group has finished of it, still waits. */
export const counterFields = {
  /** For scripts that add the unit themselves. */
  addedPrefix: (stream: string, lane: Lane) => `added:${stream}:${lane}`,
  added: (stream: string, lane: Lane, unit: 'entries' | 'events') => `added:${stream}:${lane}:${unit}`,
  done: (group: string, stream: string, lane: Lane, unit: 'entries' | 'events') =>
    `done:${group}:${stream}:${lane}:${unit}`,
  outcome: (group: string, outcome: string) => `outcome:${group}:${outcome}`,
}
