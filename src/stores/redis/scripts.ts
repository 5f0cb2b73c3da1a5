import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { type Cluster, Redis, ReplyError } from 'ioredis'
import type { RedisClient } from './connect.ts'
import type { Caller } from './pipelined-calls.ts'
import { replyCode } from './reply-error.ts'
import { VectoredCommand } from './vectored-command.ts'

export type ScriptArgument = string | number | Buffer

/** What a script adds to a stream: fields and values in turn. */
export interface Addition {
  readonly stream: string
  readonly fields: readonly (string | Buffer)[]
}

/** Bytes of a call's additions from which on they do not pass through Lua. */
export const LARGE_BYTES = 65_536

type Call = readonly [command: string, ...args: ScriptArgument[]]

/** A command that writes. */
export type Write = readonly [command: 'XADD' | 'SET', key: string, ...args: ScriptArgument[]]

/**
 * One Lua script, in the folder of the subject that calls it. The file's name ends with the number of its keys, or with `N` where that varies; its
 * header says what keys and arguments are and what it returns.
 */
export interface Script {
  readonly name: string
  /**
   * Runs it as one step in Redis. Numbers come back as numbers, strings as Buffers. It is sent by its digest, and as
   * source when Redis does not know it (after a restart): that is safe, since an unknown script has done nothing.
   */
  run(client: Caller, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown>
  /**
   * Writes, and runs the script behind that, as one. For what is large: Redis' Lua hashes each byte of each argument, which takes
   * as long as all else that an entry costs. A write may be refused and the script runs all the same, so it has to tell whether it
   * is there, and to take back what is not to stay, also when it fails; nobody sees it before. Sent as source: were the script
   * unknown, the writes would stay. A client of a cluster may send all of it again when the connection broke (`connectRedis`). Rejects
   * with what Redis refused; above maxmemory that is OOM, also for a script that runs there.
   */
  runBehind(
    client: RedisClient,
    writes: readonly Write[],
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown>
  /**
   * Runs it with entries that it adds; together large ones are added before it (`runBehind`), and such a script calls the functions of
   * `added-before.lua`. Above maxmemory, where it drains Redis, it adds them itself in any case.
   * @param argsWith is given, for each addition, the number of its arguments and these; of one that is there by then 0
   */
  runAdding(
    client: RedisClient,
    additions: readonly Addition[],
    keys: readonly string[],
    argsWith: (added: readonly (readonly ScriptArgument[])[]) => readonly ScriptArgument[],
  ): Promise<unknown>
}

/**
 * Reads a script once.
 * @param module `import.meta.url` of the caller, whose folder `path` starts from
 * @param path of the file
 * @param aboveMaxmemory that it runs above Redis' maxmemory where this use of it drains Redis; the source itself says so
 *   when all its uses do
 * @param using file of functions that it calls; they come before it
 */
export function loadScript(
  module: string,
  path: string,
  options: { aboveMaxmemory?: boolean; using?: string } = {},
): Script {
  const name = basename(path, '.lua')
  const own = textOf(module, path)
  const ownFlags = FLAGS.exec(own)?.[0] ?? ''
  const flags = options.aboveMaxmemory ? DRAINS : ownFlags
  const functions = options.using === undefined ? '' : textOf(module, options.using)
  const source = flags + functions + own.slice(ownFlags.length)
  const digest = createHash('sha1').update(source).digest('hex')
  const script: Script = {
    name,
    async run(client, keys, args) {
      try {
        return await client.callBuffer('EVALSHA', digest, keys.length, ...keys, ...args)
      } catch (error) {
        if (replyCode(error) !== 'NOSCRIPT') throw error
        return await client.callBuffer('EVAL', source, keys.length, ...keys, ...args)
      }
    },
    async runBehind(client, writes, keys, args) {
      const commands: Call[] = [...writes, ['EVAL', source, keys.length, ...keys, ...args]]
      return await (client instanceof Redis ? transact(client, commands) : transactInCluster(client, commands))
    },
    async runAdding(client, additions, keys, argsWith) {
      if (bytesOf(additions) >= LARGE_BYTES) {
        const writes = additions.map(({ stream, fields }): Write => ['XADD', stream, '*', ...fields])
        const args = argsWith(additions.map(() => [0]))
        try {
          return await script.runBehind(client, writes, keys, args)
        } catch (error) {
          if (flags !== DRAINS || replyCode(error) !== 'OOM') throw error
        }
      }
      return await script.run(client, keys, argsWith(additions.map(({ fields }) => [fields.length, ...fields])))
    },
  }
  return script
}

/** Runs commands as one, and copies none of their bytes. Returns the reply to the last. */
async function transact(client: Redis, commands: readonly Call[]): Promise<unknown> {
  // All begin to wait for their reply in this turn, so nothing of others comes between; all are written behind it, or none.
  const sent = [['MULTI'] as const, ...commands, ['EXEC'] as const].map(([name, ...args]) => {
    const command = new VectoredCommand(name, args, { replyEncoding: 'utf8' })
    command.inTransaction = true
    return client.sendCommand(command)
  })
  const settled = await Promise.allSettled(sent)
  const failed = settled.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') refusal(failed.reason)
  const reply = ((await sent.at(-1)) as unknown[]).at(-1)
  if (reply instanceof Error) throw reply
  return reply
}

/** The same by way of a pipeline, which finds the server of a cluster by its keys. */
async function transactInCluster(client: Cluster, commands: readonly Call[]): Promise<unknown> {
  const transaction = client.multi()
  for (const command of commands) transaction.call(...command)
  const results = await transaction.exec().catch(refusal)
  const [error, reply] = results!.at(-1)!
  if (error !== null) throw error
  return reply
}

/** First line of a script that says how it may run; functions that it calls come behind it. */
const FLAGS = /^#!.*\n/
/** That it runs above maxmemory. */
const DRAINS = '#!lua flags=allow-oom\n'

function bytesOf(additions: readonly Addition[]): number {
  let bytes = 0
  for (const { fields } of additions) for (const field of fields) bytes += field.length
  return bytes
}

/** Why Redis discarded a transaction: it says so of one of the commands, or, behind its own words, of all. */
function refusal(error: Error & { previousErrors?: Error[] }): never {
  const reason = /^EXECABORT .* because of: -?(.*)$/s.exec(error.message)?.[1]
  throw error.previousErrors?.[0] ?? (reason === undefined ? error : new ReplyError(reason))
}

/** Without the lines that are comments: what is sent as source is read each time. */
function textOf(module: string, path: string): string {
  const text = readFileSync(new URL(path, module), 'utf8')
  return text.replace(/^ *--.*\n/gm, '')
}
